"""Stores of other libraries, by name. Wherever a store is taken, theirs are taken as they are, too.

    import fsspec, obstore.store, gridhold

    gridhold.open_array(fsspec.get_mapper("s3://bucket/array.zarr"))
    gridhold.open_array(obstore.store.S3Store("bucket", prefix="array.zarr"))
    gridhold.open_array(repository.readonly_session("main").store, "path")  # Icechunk, and any store of zarr-python
"""

from ._fsspec import FsspecStore
from ._stores import ObstoreStore, ZarrStore, adapted

__all__ = ["FsspecStore", "ObstoreStore", "ZarrStore", "adapted"]
