"""Reading YAML and JSON files so that every value keeps its position, for messages and edits.

`file_text` is a file's text and its lines, `tree` the nodes of its YAML, `json_values` the parts
of a file of JSON. The caller decides what the nodes mean: `kronctl` makes JSON values of them,
`krontab.workflows` edits the text. PyYAML is part of the extras `yaml` and `kube`.
"""
