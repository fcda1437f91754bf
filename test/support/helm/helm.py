"""Runs Helm, and holds what it renders against the schemas of Kubernetes, KEDA and Prometheus Operator.

Reads a JSON object from standard input: `library`, the file of Helm's library; `lint`, the folder of a chart; `versions`
of Kubernetes; `renderings` by name, each a folder of a chart and a file of values. Writes a JSON object: `lint`, and
`rendered` by the same names: objects and their faults, or an error.
"""

import ctypes
import functools
import json
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
    options = Template(
        name=RELEASE.encode(),
        chart=chart.encode(),
        namespace=NAMESPACE.encode(),
        kube_version=versions[-1].encode(),
        values_files=values.encode() if values else None,
    )
    text, error = call(library.Template, options)
    if error:
        return {"error": error}
    objects = [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one]
    return {"objects": objects, "faults": [fault for one in objects for fault in faults_of(one, versions)]}


def faults_of(one, versions):
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
    lint, error = call(library.Lint, Lint(path=job["lint"].encode(), strict=1, quiet=1))
    rendered = {
        name: render(library, one["chart"], one.get("values"), job["versions"])
        for name, one in job["renderings"].items()
    }
    json.dump({"lint": lint + error, "rendered": rendered}, sys.stdout)


main()
