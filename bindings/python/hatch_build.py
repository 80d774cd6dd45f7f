"""Puts the guest into wheel and sdist, straight from where it is built: a copy in the sources would go stale."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class IncludeGuest(BuildHookInterface):
    def initialize(self, version, build_data):
        root = Path(self.root)
        if version == "editable" or (root / "src" / "gridhold" / "gridhold.wasm").is_file():  # an sdist has it
            return
        guest = root.parents[1] / "wasm" / "gridhold.wasm"
        if not guest.is_file():
            raise FileNotFoundError(f"{guest}: build the guest first (make wasm)")
        inside = "gridhold" if self.target_name == "wheel" else "src/gridhold"
        build_data["force_include"][str(guest)] = f"{inside}/gridhold.wasm"
