"""The image: what it says about itself, and that nothing is in it that should not be."""

from __future__ import annotations

import json
import re
import tarfile
from typing import Any

import kron
from tests.node.deployment import Deployment
from tools.images import NAME, Image, build
from tools.sbom import Component

INSTALLERS = ("pip", "ensurepip", "setuptools", "apt", "apt-get", "gcc", "cc", "make", "curl")
LOOK = """
import importlib.metadata, importlib.util, json, shutil
print(json.dumps({
    "distributions": {each.name: each.version for each in importlib.metadata.distributions()},
    "installers": [name for name in %r if shutil.which(name)],
    "modules": [name for name in %r if importlib.util.find_spec(name)],
}))
"""


def test_it_says_what_it_is(image: Image) -> None:
    configuration = read_configuration(image)
    assert configuration["User"] == "65532:65532"
    assert configuration["Entrypoint"] == ["kron-operator"]
    words = {name.partition("=")[0] for name in configuration["Env"]}
    assert words == {"PATH", "PYTHONDONTWRITEBYTECODE"}
    labels = {
        name.removeprefix("org.opencontainers.image."): value
        for name, value in configuration["Labels"].items()
    }
    assert labels["title"] == NAME
    assert labels["version"] == kron.__version__
    assert labels["licenses"] == "Apache-2.0"
    assert labels["source"]
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", labels["revision"])


def test_it_has_the_names_that_the_manifests_and_the_chart_ask_for(image: Image) -> None:
    with tarfile.open(image.archive) as archive:
        [manifest] = json.load(extract(archive, "manifest.json"))
    names = {f"docker.io/library/{NAME}:{tag}" for tag in ("latest", kron.__version__)}
    assert set(manifest["RepoTags"]) == names


def test_it_is_built_once(image: Image) -> None:
    before = image.archive.stat()
    assert build() == image
    assert image.archive.stat() == before


def test_its_sbom_agrees_with_what_is_in_it(image: Image, deployment: Deployment) -> None:
    [pod, *_] = deployment.pods()
    listed = json.loads(image.sbom.read_text())
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    look = LOOK % (INSTALLERS, ("pip", "ensurepip", "setuptools"))
    found = json.loads(deployment.execute(pod, "/opt/kron/bin/python", "-c", look))
    assert found["distributions"] == versions(listed["components"], "pkg:pypi/")
    assert found["distributions"]["krond"] == kron.__version__
    assert found["installers"] == found["modules"] == []
    shown = deployment.execute(pod, "dpkg-query", "--show").splitlines()
    packages = dict(line.replace(":amd64\t", "\t").split("\t") for line in shown)
    assert packages == versions(listed["components"], "pkg:deb/")
    assert "libc6" in packages


def versions(components: list[Component], kind: str) -> dict[str, str]:
    return {each["name"]: each["version"] for each in components if each["purl"].startswith(kind)}


def read_configuration(image: Image) -> dict[str, Any]:
    with tarfile.open(image.archive) as archive:
        [manifest] = json.load(extract(archive, "manifest.json"))
        configuration: dict[str, Any] = json.load(extract(archive, manifest["Config"]))["config"]
        return configuration


def extract(archive: tarfile.TarFile, name: str) -> Any:
    found = archive.extractfile(name)
    assert found is not None
    return found
