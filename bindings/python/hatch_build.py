"""Puts the guest beside the package, so that wheel and sdist contain it."""

import shutil
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CopyGuest(BuildHookInterface):
    def initialize(self, version, build_data):
        source = Path(self.root).parents[1] / "wasm" / "gridhold.wasm"
        target = Path(self.root) / "src" / "gridhold" / "gridhold.wasm"
        if version == "editable":
            return
        if source.is_file():
            shutil.copyfile(source, target)
        elif not target.is_file():  # an sdist has it already
            raise FileNotFoundError(f"{source}: build the guest first (make wasm)")
