"""The field `jobTemplate`: the Job to make, of which only what Kron itself relies on is declared.

The rest belongs to Kubernetes, whose Job is a different one in every version, so it is kept as it
comes and judged by the API server when the Job is made.
"""

from __future__ import annotations

from kron.kube.resource.field import Field, Kind

_CONTAINERS = Field(
    "containers",
    Kind.LIST,
    "The containers of the Pod; at least one.",
    is_required=True,
    shortest=1,
    items=Field(
        "",
        Kind.OBJECT,
        "A container, as in any Pod.",
        is_open=True,
        members=(
            Field("name", Kind.TEXT, "The container's name.", is_required=True, shortest=1),
            Field("image", Kind.TEXT, "The container's image."),
        ),
    ),
)

_POD = Field(
    "template",
    Kind.OBJECT,
    "The Pod that the Job runs. It gets the labels and annotations of its Job, so that a container "
    "can read its own period through the downward API.",
    is_required=True,
    is_open=True,
    members=(
        Field(
            "metadata",
            Kind.OBJECT,
            "Labels, annotations and other metadata of the Pod.",
            is_open=True,
        ),
        Field(
            "spec",
            Kind.OBJECT,
            "The Pod's spec, as in any Job.",
            is_required=True,
            is_open=True,
            members=(
                Field(
                    "restartPolicy",
                    Kind.TEXT,
                    "What happens to a container that fails: OnFailure starts it again in its "
                    "Pod, Never leaves it to the Job, which makes another Pod. Jobs have no "
                    "Always.",
                    is_required=True,
                    choices=("OnFailure", "Never"),
                ),
                _CONTAINERS,
            ),
        ),
    ),
)

JOB_TEMPLATE = Field(
    "jobTemplate",
    Kind.OBJECT,
    "The Job that is made for each period: the same as a CronJob's jobTemplate.",
    is_required=True,
    members=(
        Field(
            "metadata",
            Kind.OBJECT,
            "What is put on every Job, beside what Kron puts there itself under kron.io/.",
            members=(
                Field("labels", Kind.MAP, "Labels of every Job."),
                Field("annotations", Kind.MAP, "Annotations of every Job."),
            ),
        ),
        Field(
            "spec",
            Kind.OBJECT,
            "The Job's spec, as in any Job of batch/v1. ttlSecondsAfterFinished is made longer "
            "than policy.deadline by a minute: a Job that is gone could be started again.",
            is_required=True,
            is_open=True,
            members=(_POD,),
        ),
    ),
)
