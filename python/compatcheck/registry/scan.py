"""`compatcheck.scan` and `ranged_file`. Their calls import the packages that they need."""
from __future__ import annotations

import datetime
import json
import os
from typing import Any, Iterable, Mapping, Sequence, Union

from .. import _core
from ..errors import Error, ModelError, UsageError
from ..options import CheckOptions, Path, opsets_of
from ..progress import shown
from ..record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sys

    from .worker import Settings

    if sys.version_info >= (3, 11):
        from typing import Unpack
    else:
        from typing_extensions import Unpack

_FILES = ("mappings", "plugins", "inputs_from", "targets")
_NOT_OF_MANY = ("example_inputs", "example_kwargs", "dynamic_shapes", "hash", "graph")


class ScanTotals(Record):
    """The totals of a scan, as `totals.json` has them."""

    models: int
    yes: int
    no: int
    needs_input: int
    not_checked: int
    missing: tuple[dict[str, Any], ...]
    opsets: tuple[dict[str, Any], ...]
    targets: tuple[dict[str, Any], ...]
    failures: tuple[dict[str, Any], ...]
    exit_code: int

    def __init__(self, fields: dict[str, Any], output: str) -> None:
        super().__init__(fields)
        self.output = output

    def __str__(self) -> str:
        from .results import words

        return words(self._fields, self.output)


def scan(
    uris: Union[Path, Sequence[Path]],
    /,
    output: Path,
    opset: Union[int, Iterable[int]] = 17,
    *,
    exclude: Union[str, Sequence[str]] = (),
    changed_since: Union[str, datetime.datetime, None] = None,
    resume: bool = False,
    ray: str = "auto",
    jobs: Union[int, None] = None,
    storage_options: Union[Mapping[str, Any], None] = None,
    **options: Unpack[CheckOptions],
) -> ScanTotals:
    """Checks all models of folders, buckets and listings on Ray, and writes reports, tables and totals to a folder.

    `uris` and `output` are URIs of fsspec. `ray`: "auto" (a cluster that runs here, else a Ray of this call), "local", or the
    address of a cluster. `jobs`: how many actors check; else one a core. `storage_options` are those of fsspec's file systems.
    """
    from . import cluster, run
    from .run_folder import Job
    from .storage import as_time, file_system, find_models
    from .workers import packed_opset

    _check_arguments(uris=uris, output=output, exclude=exclude, resume=resume, ray=ray, jobs=jobs, storage_options=storage_options)
    cluster.import_ray()
    opset_setting, plain, settings = checked_options("scan", opset, options)
    try:
        since = as_time(changed_since) if changed_since is not None else None
    except (ValueError, OverflowError):
        raise UsageError(f"changed_since {changed_since}: expected a date or time such as 2026-01-31 or 2026-01-31T12:00:00Z") from None
    storage = dict(storage_options or {})
    words = [os.fspath(each) for each in ([uris] if isinstance(uris, (str, os.PathLike)) else uris)]
    globs = [exclude] if isinstance(exclude, str) else list(exclude)
    models = find_models(words, globs, since, storage)
    target, path = file_system(os.fspath(output), storage)
    folder = target.unstrip_protocol(path)  # a relative path would be another one in each worker
    gate = [str(plain.get(name)) for name in ("fail_on", "max_missing", "exit_zero")]  # reports hold the gate's result
    all_settings = f"{settings.digest()} {json.dumps(packed_opset(opset_setting))} {' '.join(gate)}"
    job = Job(folder, opset_setting, plain, storage, all_settings, _configuration())
    with shown(options.get("progress", False)) as show:

        def report(done: int, total: int) -> None:
            if show:
                show("check", done, total)

        return ScanTotals(run.scan(job, models, resume, ray, jobs, report), os.fspath(output))


def _is_list(value: Any, kinds: Any) -> bool:
    return isinstance(value, kinds) or (isinstance(value, (list, tuple, set)) and all(isinstance(each, kinds) for each in value))


def _check_arguments(**given: Any) -> None:
    paths, jobs = (str, os.PathLike), given["jobs"]
    for name, is_right, kind in (
        ("uris", _is_list(given["uris"], paths), "a URI or a list of URIs"),
        ("output", isinstance(given["output"], paths), "a URI"),
        ("exclude", _is_list(given["exclude"], str), "a glob or a list of globs"),
        ("resume", isinstance(given["resume"], bool), "True or False"),
        ("ray", isinstance(given["ray"], str), "'auto', 'local' or an address"),
        ("jobs", jobs is None or (isinstance(jobs, int) and not isinstance(jobs, bool)), "a number"),
        ("storage_options", isinstance(given["storage_options"] or {}, Mapping), "a mapping"),
    ):
        if not is_right:
            raise TypeError(f"scan(): {name} can't be {given[name]!r}: it is {kind}")
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs {jobs}: must be at least 1")
    if not given["uris"]:
        raise UsageError("uris is empty: no models are named")


def ranged_file(uri: str, **options: Any) -> _core.RangedFile:
    """A model behind a URI of fsspec, for `check`, which reads the parts of it that it needs. `options` are those of the file
    system."""
    from .storage import Remote, reason_of

    try:
        remote = Remote(uri, options)
    except Error:
        raise
    except Exception as error:
        raise ModelError(f"{uri}: can't be read: {reason_of(error)}") from error

    def read(ranges: Iterable[Sequence[int]]) -> list[bytes]:
        try:
            return remote.read(ranges)
        except Exception as error:
            raise ModelError(f"{uri}: can't be read: {reason_of(error)}") from error

    try:
        uri.encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"{ascii(uri)}: can't be read by ranges: its name isn't UTF-8") from error
    return _core.RangedFile(uri, remote.size, read)


def checked_options(call: str, opset: Union[int, Iterable[int]], options: Mapping[str, Any]) -> tuple[Any, dict[str, Any], Settings]:
    """The opsets and options as JSON has them."""
    from .worker import Settings

    given = {name: value for name, value in options.items() if value is not None and name != "progress"}
    for name in _NOT_OF_MANY:
        if given.pop(name, None):
            raise UsageError(f"{call} has no {name}: it reads models by ranges, in processes of their own")
    if given.get("frontend") == "libtorch" or given.get("op_libraries"):
        raise UsageError(f"{call} reads models by ranges, and libtorch needs files: neither frontend='libtorch' nor op_libraries work")
    opsets = opsets_of(opset)
    opset_setting = opset if isinstance(opset, (int, range)) else opsets
    plain = {name: _plain(value) for name, value in given.items()}
    for name in _FILES:  # whatever folder a worker runs in
        if name in plain:
            plain[name] = [_absolute(each) for each in plain[name]] if isinstance(plain[name], list) else _absolute(plain[name])
    return opset_setting, plain, Settings(opset_setting, plain)


def _absolute(file: Any) -> Any:
    return os.path.abspath(file) if isinstance(file, str) and os.path.exists(file) else file


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if isinstance(value, str) or not isinstance(value, Iterable) else [_plain(each) for each in value]


def _configuration() -> Mapping[str, Any]:
    import fsspec

    return {protocol: dict(values) for protocol, values in fsspec.config.conf.items()}
