"""Classes of controllers that an experiment or a question names."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from . import _ackclock
from .controllers import Controller, Used, registered
from .identity import identity

#: Beginning of an identity that nobody else has.
UNKNOWN = "unknown "


class Classes:
    """Classes of controllers, collected from values that name them."""

    def __init__(self) -> None:
        self.by_name: dict[str, type[Controller]] = {}
        #: Parameters of each use of a class, by its name.
        self.uses: dict[str, list[dict[str, Any]]] = {}

    def update(self, other: Classes) -> None:
        """Take the classes of another collection. A class with a known name replaces that one."""
        self.by_name.update(other.by_name)
        for name, uses in other.uses.items():
            self.uses[name] = [*self.uses.get(name, []), *uses]

    def named(self, value: Any) -> Any:
        """Return values with names in place of classes, which are collected."""
        if isinstance(value, type) and issubclass(value, Controller):
            return self._use(value, {})
        if isinstance(value, Used):
            parameters = {key.replace("_", "-"): item for key, item in value.parameters.items()}
            if isinstance(value.controller, str):
                return {"name": value.controller, **parameters}
            return {"name": self._use(value.controller, parameters), **parameters}
        if isinstance(value, Mapping):
            return {key: self.named(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.named(item) for item in value]
        return value

    def _use(self, controller: type[Controller], parameters: dict[str, Any]) -> str:
        """Collect a use of a class. Return its name."""
        name = registered(controller).name
        if self.by_name.setdefault(name, controller) is not controller:
            message = f"two controllers have the name {name}; set the attribute `name` of one"
            raise ValueError(message)
        uses = self.uses.setdefault(name, [])
        if parameters not in uses:
            uses.append(parameters)
        return name

    def registered(self) -> list[_ackclock.Class]:
        """Return the classes as entries of the registry."""
        return [registered(controller) for controller in self.by_name.values()]

    def identity(self) -> str | None:
        """Return what identifies the classes: a new word each time if that cannot be known."""
        if not self.by_name:
            return None
        return identity(self.by_name.values()) or f"{UNKNOWN}{uuid.uuid4().hex}"
