"""Runs Helm, and holds what it renders against the schemas of Kubernetes, KEDA and Prometheus Operator.

Reads a JSON object from standard input: `library`, the file of Helm's library; `chart`, the folder of the chart to lint
and to package into the folder `packages`; `versions` of Kubernetes; `renderings` by name, each a file of values and the
folder of a chart, that package when absent. Writes a JSON object: `lint`, and `rendered` by the same names: objects and
their faults, or an error, and of the package also the notes for people.
"""

import ctypes
import functools
import json
import pathlib
import sys

import yaml
from cloudcoil.models.keda import v1alpha1 as keda
from cloudcoil.models.prometheus_operator import v1 as prometheus
from kubernetes_validate import utils

TEXT, NUMBER = ctypes.c_char_p, ctypes.c_int
NAMESPACE = "metrics"
RELEASE = "release"
MODELS = {
    "keda.sh/v1alpha1": keda,
    "monitoring.coreos.com/v1": prometheus,
}


class Result(ctypes.Structure):
    _fields_ = [(name, TEXT) for name in ("out", "err", "stdout", "stderr")]


class Lint(ctypes.Structure):
    _fields_ = [("path", TEXT), ("strict", NUMBER), ("quiet", NUMBER)]


class Package(ctypes.Structure):
    _fields_ = [
        *((name, TEXT) for name in ("path", "destination")),
        ("sign", NUMBER),
        *((name, TEXT) for name in ("key", "keyring", "passphrase_file")),
    ]


class Install(ctypes.Structure):
    _fields_ = [
        ("name", TEXT),
        ("generate_name", NUMBER),
        *((name, TEXT) for name in ("name_template", "version", "chart", "namespace", "kube_version")),
        *((name, NUMBER) for name in ("atomic", "create_namespace")),
        ("description", TEXT),
        *((name, NUMBER) for name in ("devel", "dependency_update", "disable_open_api_validation", "dry_run")),
        ("dry_run_option", TEXT),
        *((name, NUMBER) for name in ("skip_crds", "wait", "timeout")),
        *((name, TEXT) for name in ("values", "set_files", "values_files", "kube_config", "kube_config_contents")),
        *((name, TEXT) for name in ("cert_file", "key_file", "ca_file")),
        *((name, NUMBER) for name in ("insecure_skip_tls_verify", "plain_http")),
        ("keyring", TEXT),
        *((name, NUMBER) for name in ("debug", "client_only")),
        ("repository_config", TEXT),
    ]


class Template(ctypes.Structure):
    _fields_ = [
        *((name, TEXT) for name in ("name", "version", "chart", "namespace", "kube_version")),
        *((name, NUMBER) for name in ("dependency_update", "skip_crds")),
        *((name, TEXT) for name in ("values", "set_files", "values_files", "cert_file", "key_file", "ca_file")),
        *((name, NUMBER) for name in ("insecure_skip_tls_verify", "plain_http")),
        ("keyring", TEXT),
        ("debug", NUMBER),
        ("repository_config", TEXT),
    ]


def call(function, options):
    function.restype = Result
    result = function(ctypes.byref(options))
    return (result.out or b"").decode(), (result.err or b"").decode()


def render(library, chart, values, versions):
    options = {
        "name": RELEASE.encode(),
        "chart": chart.encode(),
        "namespace": NAMESPACE.encode(),
        "kube_version": versions[-1].encode(),
        "values_files": values.encode() if values else None,
    }
    text, error = call(library.Template, Template(**options))
    if error:
        return {"error": error}
    objects = [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]
    rendered = {"objects": objects, "faults": faults_of(objects, versions)}
    if chart.endswith(".tgz"):
        rendered["notes"], _ = call(library.Install, Install(**options, dry_run=1, dry_run_option=b"client", client_only=1))
    return rendered


def faults_of(objects, versions):
    return [fault for one in objects for fault in faults_in(json.dumps(one), tuple(versions))]


# Most objects are the same with most values.
@functools.cache
def faults_in(text, versions):
    one = json.loads(text)
    name = f"{one['kind']} {one['metadata']['name']}"
    try:
        models = MODELS.get(one["apiVersion"])
        if models:
            # A model leaves out what it does not know.
            read = getattr(models, one["kind"]).model_validate(one)
            known = read.model_dump(by_alias=True, exclude_unset=True, mode="json")
            return [f"{name}: {path}" for path in left_out(one, known)]
        for version in versions:
            utils.validate(one, version, strict=True)
        return []
    except Exception as error:
        return [f"{name}: {getattr(error, 'message', error)}"]


def left_out(one, known, path=""):
    if isinstance(one, dict) and isinstance(known, dict):
        for key, value in one.items():
            if key not in known:
                yield f"{path}.{key} is unknown"
            else:
                yield from left_out(value, known[key], f"{path}.{key}")
    elif isinstance(one, list) and isinstance(known, list):
        for i, value in enumerate(one):
            yield from left_out(value, known[i], f"{path}[{i}]")


def main():
    job = json.load(sys.stdin)
    library = ctypes.CDLL(job["library"])
    # Each is a file of a megabyte, which would be read again for every object.
    utils.schema_contents = functools.cache(utils.schema_contents)
    chart = job["chart"].encode()
    lint, error = call(library.Lint, Lint(path=chart, strict=1, quiet=1))
    call(library.Package, Package(path=chart, destination=job["packages"].encode()))
    [package] = pathlib.Path(job["packages"]).glob("*.tgz")
    rendered = {
        name: render(library, one.get("chart", str(package)), one["values"], job["versions"])
        for name, one in job["renderings"].items()
    }
    json.dump({"lint": lint + error, "rendered": rendered}, sys.stdout)


main()
