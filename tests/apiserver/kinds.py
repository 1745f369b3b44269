#!/usr/bin/env python3
"""Writes transport-file/cluster/src/kinds.txt: what a kube-apiserver says of its kinds, and how it treats an object of each.

    go run -C tests/apiserver -trimpath . run DIR        # in another terminal, with an absolute path
    tests/apiserver/kinds.py DIR > transport-file/cluster/src/kinds.txt

Kinds, scopes, short names and subresources are those of the discovery documents. Lists and their keys are those of the
OpenAPI documents. The rest is measured: an object of each kind is created, changed and deleted.
"""

import http.client
import json
import os
import re
import ssl
import sys
import time

NAMESPACE = "listwatch-kinds"
POD = {"containers": [{"name": "a", "image": "a"}]}
LABELS = {"matchLabels": {"a": "b"}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
JOB = {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
HOOK = {"name": "a.example.com", "clientConfig": {"url": "https://example.com"}, "sideEffects": "None",
        "failurePolicy": "Ignore", "admissionReviewVersions": ["v1"]}
RULES = {"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["foos"]}]}
DEVICES = {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}
ROLE = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}
SCALED = {"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}}
STORAGE = {"resources": {"requests": {"storage": "1M"}}, "accessModes": ["ReadWriteOnce"]}
# A valid object of each kind that has to have more than a name.
OBJECTS = {
    "services": {"spec": {"ports": [{"port": 80}]}},
    "podtemplates": {"template": TEMPLATE},
    "pods": {"spec": POD},
    "limitranges": {"spec": {"limits": [{"type": "Pod"}]}},
    "persistentvolumes": {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "3M"}, "hostPath": {"path": "/a"}}},
    "events": {"involvedObject": {"namespace": NAMESPACE}},
    "events.k8s.io/v1/events": {"regarding": {"namespace": NAMESPACE}, "eventTime": "2017-08-09T15:04:05.000000Z",
                                "reportingInstance": "a", "reportingController": "a.b/c", "action": "a", "reason": "a",
                                "type": "Normal"},
    "persistentvolumeclaims": {"spec": STORAGE},
    "replicationcontrollers": {"spec": {"selector": {"a": "b"}, "template": TEMPLATE}},
    "daemonsets": {"spec": {"selector": LABELS, "template": TEMPLATE}},
    "deployments": {"spec": {"selector": LABELS, "template": TEMPLATE}},
    "statefulsets": {"spec": {"selector": LABELS, "template": TEMPLATE}},
    "replicasets": {"spec": {"selector": LABELS, "template": TEMPLATE}},
    "controllerrevisions": {"revision": 1, "data": {"a": "b"}},
    "horizontalpodautoscalers": SCALED,
    "jobs": {"spec": JOB},
    "cronjobs": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}},
    "leases": {"spec": {}},
    "endpointslices": {"addressType": "IPv4", "endpoints": []},
    "ingresses": {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}},
    "ingressclasses": {"spec": {"controller": "example.com/a"}},
    "ipaddresses": {"metadata": {"name": "192.168.2.3"}, "spec": {"parentRef": {"resource": "services", "name": "a", "namespace": "a"}}},
    "servicecidrs": {"spec": {"cidrs": ["192.168.0.0/16"]}},
    "flowschemas": {"spec": {"priorityLevelConfiguration": {"name": "a"}}},
    "prioritylevelconfigurations": {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 3, "limitResponse": {"type": "Reject"}}}},
    "volumeattachments": {"spec": {"attacher": "a", "nodeName": "a", "source": {"persistentVolumeName": "a"}}},
    "volumeattributesclasses": {"driverName": "example.com", "parameters": {"a": "b"}},
    "storageclasses": {"provisioner": "example.com/a"},
    "csistoragecapacities": {"storageClassName": "a"},
    "csinodes": {"spec": {"drivers": []}},
    "csidrivers": {"spec": {}},
    "rolebindings": ROLE,
    "clusterrolebindings": ROLE,
    "validatingwebhookconfigurations": {"webhooks": [HOOK]},
    "mutatingwebhookconfigurations": {"webhooks": [HOOK]},
    "validatingadmissionpolicies": {"spec": {"matchConstraints": RULES, "validations": [{"expression": "true"}]}},
    "validatingadmissionpolicybindings": {"spec": {"policyName": "a", "validationActions": ["Deny"]}},
    "mutatingadmissionpolicies": {"spec": {"matchConstraints": RULES, "reinvocationPolicy": "Never", "mutations": [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]}},
    "mutatingadmissionpolicybindings": {"spec": {"policyName": "a"}},
    "priorityclasses": {"value": 1},
    "apiservices": {"metadata": {"name": "v1.a.example.com"}, "spec": {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}},
    "customresourcedefinitions": {"metadata": {"name": "foos.b.example.com"}, "spec": {
        "group": "b.example.com", "names": {"kind": "Foo", "plural": "foos"}, "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}},
    "runtimeclasses": {"handler": "a"},
    "deviceclasses": {"spec": {}},
    "devicetaintrules": {"spec": {"taint": {"key": "a", "effect": "NoSchedule"}}},
    "resourceclaims": {"spec": DEVICES},
    "resourceclaimtemplates": {"spec": {"spec": DEVICES}},
    "resourceslices": {"spec": {"nodeName": "a", "driver": "example.com", "pool": {"name": "a", "resourceSliceCount": 1}}},
    "clustertrustbundles": {"spec": {"trustBundle": None}},
    "podcertificaterequests": {"spec": {
        "signerName": "example.com/a", "podName": "a", "podUID": "1", "serviceAccountName": "a", "serviceAccountUID": "1",
        "nodeName": "a", "nodeUID": "1", "stubPKCS10Request": None}},
    "storageversionmigrations": {"spec": {"resource": {"group": "apps", "resource": "deployments"}}},
    "certificatesigningrequests": {"spec": {"signerName": "example.com/a", "usages": ["any"], "request": None}},
}
# Fields by which objects are selected under names that are no paths.
ODD_FIELDS = ["source", "reportingComponent", "status.successful"]
# Fields of a status that depend on the object, or on the time.
CHANGING = ["conditions", "acceptedNames", "storedVersions", "lastPhaseTransitionTime"]


class Server:
    """A server, and what it answers to an administrator."""

    def __init__(self, folder):
        kubeconfig = open(f"{folder}/kubeconfig", encoding="utf-8").read()
        port = int(re.search(r"127\.0\.0\.1:(\d+)", kubeconfig).group(1))
        context = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        context.load_cert_chain(f"{folder}/admin.crt", f"{folder}/admin.key")
        self.authority = open(f"{folder}/ca.crt", encoding="utf-8").read()
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)

    def ask(self, method, path, body=None, accept="application/json"):
        how = "merge-patch+json" if method == "PATCH" else "json"
        headers = {"Accept": accept, "Content-Type": f"application/{how}"}
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def document(self, path, accept="application/json"):
        status, answer = self.ask("GET", path, accept=accept)
        assert status == 200, (path, status)
        return answer


def kinds(server):
    """The resources that can be listed, with their group and version."""
    for root in ("/api", "/apis"):
        accept = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
        for group in server.document(root, accept)["items"]:
            for version in group["versions"]:
                for resource in version["resources"]:
                    if "create" in resource["verbs"] and "list" in resource["verbs"]:
                        name = group["metadata"].get("name", "")
                        yield (f"{name}/" if name else "") + version["version"], resource


def measured(server, version, resource):
    """The traits of a kind, and the status of a new object."""
    plural = resource["resource"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    path = f"{root}/namespaces/{NAMESPACE}/{plural}" if resource["scope"] == "Namespaced" else f"{root}/{plural}"
    body = json.loads(json.dumps(OBJECTS.get(f"{version}/{plural}", OBJECTS.get(plural, {}))))
    if plural == "certificatesigningrequests":
        body["spec"]["request"] = certificate_request("PEM")
    if plural == "podcertificaterequests":
        body["spec"]["stubPKCS10Request"] = certificate_request("DER")
    if plural == "clustertrustbundles":
        body["spec"]["trustBundle"] = server.authority
    metadata = body.setdefault("metadata", {})
    metadata.setdefault("name", "listwatch-" + version.split("/")[-1] + "-a")
    metadata["generation"] = 7
    absent = server.ask("PUT", f"{path}/{metadata['name']}?dryRun=All", body)
    code, created = server.ask("POST", path, body)
    assert code == 201, (path, created)
    del metadata["generation"]
    beside = beside_status(server, f"{path}/{metadata['name']}") if "status" in parts(resource) else ""
    prefixed = server.ask("PATCH", f"{path}/{metadata['name']}?dryRun=All", {"metadata": {"generateName": "Not_A-"}})
    replaced = server.ask("PUT", f"{path}/{metadata['name']}", body)
    immutable = replaced[1].get("details", {}).get("causes", [{}])[0].get("message", "")
    _, deleted = server.ask("DELETE", f"{path}/{metadata['name']}?gracePeriodSeconds=0")
    finalizers = deleted.get("metadata", {}).get("finalizers", [])
    if finalizers and "kubernetes" not in finalizers:
        server.ask("PUT", f"{path}/{metadata['name']}", {**deleted, "metadata": {**deleted["metadata"], "finalizers": []}})
    named = {name: is_name(server, path, body, name) for name in ("a.b", "A:b")}
    traits = {
        "N": resource["scope"] == "Namespaced",
        "G": created["metadata"].get("generation") == 1,
        "C": absent[0] != 404,
        "V": "must be specified for an update" in immutable,
        "O": "orphan" in finalizers,
        "D": deleted["kind"] == resource["responseKind"]["kind"] and "orphan" not in finalizers and not (
            finalizers and plural not in ("persistentvolumes", "persistentvolumeclaims")),
        "B": not named["a.b"],
        "P": named["A:b"],
        "M": prefixed[0] == 422,
    }
    status = created.get("status")
    if status is not None:
        status = {field: value for field, value in status.items() if field not in CHANGING}
    return "".join(letter for letter, holds in traits.items() if holds) + beside or "-", status


def is_name(server, path, body, name):
    """Whether an object can have a name. That of some kinds is made of other fields."""
    body = {**body, "metadata": {**body["metadata"], "name": name}}
    _, answer = server.ask("POST", f"{path}?dryRun=All", body)
    causes = answer.get("details", {}).get("causes", [])
    about = [cause["message"] for cause in causes if cause["field"] == "metadata.name"]
    return not any("must not contain dots" in why or "must consist of" in why for why in about)


def parts(resource):
    return [part["subresource"] for part in resource.get("subresources", [])]


def beside_status(server, path):
    """The initials of the metadata that a request for the status changes."""
    owner = {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"}
    given = {"annotations": {"x": "y"}, "finalizers": ["x/y"], "labels": {"x": "y"}, "ownerReferences": [owner]}
    before = server.document(path)["metadata"]
    _, answer = server.ask("PATCH", f"{path}/status", {"metadata": given})
    changed = [field for field in given if answer["metadata"].get(field) != before.get(field)]
    server.ask("PATCH", path, {"metadata": {field: before.get(field) for field in given}})
    return "".join(field[0] for field in changed)


def certificate_request(form):
    """A request of `openssl req`, which the server reads."""
    import base64, subprocess, tempfile
    with tempfile.NamedTemporaryFile() as key:
        command = ["openssl", "req", "-new", "-outform", form, "-newkey", "rsa:3072", "-nodes", "-keyout", key.name, "-subj", "/CN=a"]
        return base64.b64encode(subprocess.run(command, check=True, capture_output=True).stdout).decode()


def selectable(server, definitions, version, resource, name):
    """The fields by which objects can be selected, besides name and namespace."""
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    found = []
    for field in sorted({*paths(definitions, name, 2), *ODD_FIELDS}):
        if field in ("metadata.name", "metadata.namespace"):
            continue
        status, _ = server.ask("GET", f"{root}/{resource['resource']}?limit=1&fieldSelector={field}=x")
        if status == 200:
            found.append(field)
    return found


def paths(definitions, name, depth):
    for field, schema in definitions[name].get("properties", {}).items():
        yield field
        below = target(schema)
        if below in definitions and depth > 1:
            yield from (f"{field}.{inner}" for inner in paths(definitions, below, depth - 1))


def target(schema):
    """The type that a schema refers to, by itself or for its elements."""
    for part in (schema, schema.get("items", {}), *schema.get("allOf", [])):
        if "$ref" in part:
            return part["$ref"].rsplit("/", 1)[-1]
    return ""


class Types:
    """The types that have lists with keys, sets, or objects that are one value."""

    def __init__(self, definitions, defaults):
        self.definitions, self.defaults, self.lines = definitions, defaults, {}

    def add(self, name):
        """Whether the type has something to say."""
        if name in self.lines:
            return self.lines[name] != ""
        if name not in self.definitions:
            return False
        self.lines[name] = "…"  # A type that contains itself.
        fields = [self.field(name, *field) for field in sorted(self.definitions[name].get("properties", {}).items())]
        self.lines[name] = " ".join(field for field in fields if field)
        return self.lines[name] != ""

    def field(self, name, field, schema):
        below = target(schema)
        own = self.definitions.get(below, {})
        if schema.get("type") == "array":
            how = self.list_of(name, field, schema, below)
            inner = short(below) if how.startswith("[") and self.add(below) else ""
            inner = "!" if how.startswith("[") and own.get("x-kubernetes-map-type") == "atomic" else inner
            return f"{field}{how}{inner}" if how else ""
        if below.endswith(".ObjectMeta"):
            return ""  # Every `metadata` is of this type.
        if "atomic" in (schema.get("x-kubernetes-map-type"), own.get("x-kubernetes-map-type")):
            return f"{field}!"
        return f"{field}:{short(below)}" if self.add(below) else ""

    def list_of(self, name, field, schema, below):
        patch = schema.get("x-kubernetes-patch-strategy", "").split(",")
        merges = "" if "merge" in patch else "="
        match schema.get("x-kubernetes-list-type"):
            case "map":
                keys = schema["x-kubernetes-list-map-keys"]
                # A patch tells elements apart by one field: the first key.
                merge_key = schema.get("x-kubernetes-patch-merge-key", keys[0])
                keys = sorted(keys, key=lambda key: key != merge_key)
                return "[" + ",".join(key + self.default(below, key) for key in keys) + "]" + merges
            case "set":
                return "{}" + merges
        return f"<{schema['x-kubernetes-patch-merge-key']}>" if not merges else ""

    def default(self, name, key):
        default = self.defaults.get(name, {}).get("properties", {}).get(key, {}).get("default")
        return f"={default}" if isinstance(default, str) else ""


def short(name):
    for prefix in ("io.k8s.api.", "io.k8s.apimachinery.pkg.apis.", "io.k8s.apiextensions-apiserver.pkg.apis.",
                   "io.k8s.kube-aggregator.pkg.apis."):
        name = name.removeprefix(prefix)
    return name


def main(folder):
    server = Server(folder)
    definitions = server.document("/openapi/v2")["definitions"]
    defaults = {}
    for path in server.document("/openapi/v3")["paths"].values():
        defaults.update(server.document(path["serverRelativeURL"]).get("components", {}).get("schemas", {}))
    roots = {}
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            version = f"{kind['group']}/{kind['version']}".removeprefix("/")
            roots.setdefault((version, kind["kind"]), name)
    types = Types(definitions, defaults)
    while server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})[0] != 201:
        time.sleep(1)  # It may still go, after a run before this one.
    module = open(f"{os.path.dirname(os.path.abspath(__file__))}/go.mod", encoding="utf-8").read()
    release = re.search(r"k8s.io/kubernetes (v[0-9.]+)", module).group(1)
    print(f"# Written by tests/apiserver/kinds.py, from kube-apiserver {release}. Do not edit.")
    print("# Traits: N namespaced, G counts generations, C created by a PUT, V a PUT names its version, O orphans dependents,")
    print("# D a DELETE answers with the object, B names are labels, P names are segments of paths, M a change checks the prefix of")
    print("# names; a request for the status also changes a annotations, f finalizers, l labels, o owners. Then short names,")
    print("# subresources, fields of selectors, the type, and the status of a new object.")
    found = list(kinds(server))
    print("groups", *sorted(group["name"] for group in server.document("/apis")["groups"]))
    for version, resource in sorted(found, key=lambda it: (it[0], it[1]["resource"])):
        kind, plural = resource["responseKind"]["kind"], resource["resource"]
        name = roots[version, kind]
        traits, status = measured(server, version, resource)
        subresources = ",".join(parts(resource))
        fields = ",".join(selectable(server, definitions, version, resource, name))
        shorts = ",".join(resource.get("shortNames", []))
        root = short(name) if types.add(name) else ""
        status = "" if status is None else json.dumps(status, separators=(",", ":"))
        columns = (version, kind, plural, traits, shorts, subresources, fields, root, status)
        print("kind", *(column or "-" for column in columns))
    print("# The fields of types: `:T` of a type, `!` one value, `[keys]T` a list with keys, of which a strategic patch")
    print("# takes the first one, `[keys]!` one whose elements are one value each, `{}` a set, `<key>` a list with a key for a strategic patch alone, `=` for an apply alone.")
    types.add("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    for name, line in sorted(types.lines.items()):
        if line:
            print("type", short(name), line)
    server.ask("DELETE", f"/api/v1/namespaces/{NAMESPACE}")


if __name__ == "__main__":
    main(sys.argv[1])
