"""The node: one for all tests. They come first, so that one worker of pytest has them all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.node.deployment import Deployment
from tests.node.node import Node
from tests.node.surroundings import why_no_node
from tools import images
from tools.images import Image


@pytest.fixture(scope="session")
def image() -> Image:
    """The image of the sources as they are; built now if nobody has built it yet."""
    return images.build()


@pytest.fixture(scope="session")
def node(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node with the image. Tests that need one are not even collected where none can run."""
    if why := why_no_node():
        pytest.skip(why)
    with Node.start(tmp_path_factory.mktemp("node"), [image.archive]) as started:
        yield started


@pytest.fixture
def deployment(node: Node) -> Deployment:
    """The operator for the whole cluster, from the manifests as they are, both replicas ready."""
    made = Deployment(node)
    made.apply()
    return made
