"""GitHub workflow files: reading, resolving and editing their schedules without any other change.

Markdown with front matter and GitHub Actions YAML. Needs the extra `yaml`; nothing outside
`krontab fuzzy compile` and `krontab heatmap` imports this package.
"""
