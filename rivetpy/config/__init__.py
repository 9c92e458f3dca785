"""Where things are: the registry's file, its data directory, the running engine."""

from rivetpy.config.places import (
    ACTOR_FILES,
    DATABASE,
    DEFAULT_HOST,
    DEFAULT_PORT,
    Place,
    data_dir,
    endpoint_of,
    find_engine,
    is_loopback,
    url_of,
)
from rivetpy.config.refs import RegistryError, RegistryRef, find_registry
from rivetpy.config.sources import (
    distrust_fresh_bytecode,
    files_of_failure,
    loaded_files,
    loaded_folders,
)

__all__ = [
    "ACTOR_FILES",
    "DATABASE",
    "DEFAULT_HOST",
    "DEFAULT_PORT",
    "Place",
    "RegistryError",
    "RegistryRef",
    "data_dir",
    "distrust_fresh_bytecode",
    "endpoint_of",
    "files_of_failure",
    "find_engine",
    "find_registry",
    "is_loopback",
    "loaded_files",
    "loaded_folders",
    "url_of",
]
