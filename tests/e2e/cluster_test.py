"""The manifests are what Kubernetes takes, calibrate before they replay, and keep their results; the flags
of all launchers are flags that there are."""

import json
import os
import pathlib
import re
import subprocess
import unittest

from harness import Case, DRIFTLESS, SAMPLE

CLUSTER = pathlib.Path(__file__).resolve().parents[2] / "cmd" / "cluster"
SCHEMA = json.loads((SAMPLE.parent / "kubernetes" / "schema.json").read_text())
TYPES = {
    "string": str, "object": dict, "array": list, "boolean": bool, "null": type(None),
    "integer": int, "number": (int, float),
}  # fmt: skip


def is_of(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def errors(value, schema, path):
    """What the value has otherwise than the schema, which uses few words of JSON Schema."""
    unknown = set(schema) - {"$ref", "$id", "type", "format", "properties", "items", "required", "enum",
                             "oneOf", "additionalProperties"}  # fmt: skip
    if unknown:
        return [f"{path}: the schema has {unknown}, which this test does not know"]
    if "$ref" in schema:
        return errors(value, SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]], path)
    if "oneOf" in schema:
        fitting = [one for one in schema["oneOf"] if not errors(value, one, path)]
        return [] if len(fitting) == 1 else [f"{path}: fits {len(fitting)} of {schema['oneOf']}"]
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_of(value, name) for name in types):
        return [f"{path}: is no {types}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{path}: {value!r} is none of {schema['enum']}"]
    found = []
    if isinstance(value, dict):
        members = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        found += [f"{path}: lacks {key}" for key in schema.get("required", []) if key not in value]
        for key, member in value.items():
            if key in members:
                found += errors(member, members[key], f"{path}.{key}")
            elif others is False:
                found.append(f"{path}: {key} is not known")
            elif isinstance(others, dict):
                found += errors(member, others, f"{path}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            found += errors(item, schema.get("items", {}), f"{path}[{i}]")
    return found


class Cluster(Case):
    def objects(self, name):
        try:
            import yaml
        except ImportError:
            self.skipTest("no PyYAML here (Debian: python3-yaml)")
        return list(yaml.safe_load_all((CLUSTER / name).read_text()))

    def of_kind(self, name, kind):
        found = [one for one in self.objects(name) if one["kind"] == kind]
        self.assertEqual(len(found), 1, f"{name}: {kind}")
        return found[0]

    def test_kubernetes_takes_them(self):
        for name in ("job.yaml", "merge.yaml", "pod.yaml"):
            for one in self.objects(name):
                self.assertEqual(errors(one, SCHEMA["kinds"][one["kind"]], f"{name} {one['kind']}"), [])

    def test_the_validator_finds_what_is_wrong(self):
        job = self.of_kind("job.yaml", "Job")
        spec = job["spec"]["template"]["spec"]
        for wrong, change in (
            ("completionMod", lambda: job["spec"].update(completionMod="Indexed")),
            ("parallelism", lambda: job["spec"].update(parallelism="four")),
            ("restartPolicy", lambda: spec.update(restartPolicy=1)),
            ("lacks name", lambda: spec["containers"][0].pop("name")),
        ):
            change()
            self.assertIn(wrong, "\n".join(errors(job, SCHEMA["kinds"]["Job"], "job")))

    def pods(self):
        yield self.of_kind("pod.yaml", "Pod")["spec"]
        yield self.of_kind("job.yaml", "Job")["spec"]["template"]["spec"]

    def test_they_calibrate_first_and_keep_their_results(self):
        for spec in self.pods():
            calibrate, replay = spec["initContainers"][0], spec["containers"][0]
            first, then = calibrate["args"], replay["args"]
            self.assertEqual((first[0], then[0]), ("calibrate", "replay"))
            made = first[first.index("--out") + 1]
            self.assertEqual(then[then.index("--calibration") + 1], made)
            out = then[then.index("--out") + 1]
            claims = {one["name"] for one in spec["volumes"] if "persistentVolumeClaim" in one}
            for container, path in ((calibrate, made), (replay, out)):
                kept = [one["mountPath"] for one in container["volumeMounts"] if one["name"] in claims]
                self.assertTrue(any((path + "/").startswith(folder + "/") for folder in kept), path)
                self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
            # The folder of the rehearsals, too.
            self.assertIn({"name": "TMPDIR", "value": "/runs"}, calibrate["env"])

    def test_the_shards_are_those_that_are_merged(self):
        job = self.of_kind("job.yaml", "Job")
        count = job["spec"]["completions"]
        self.assertEqual(job["spec"]["parallelism"], count)  # they wait for each other
        self.assertEqual(job["spec"]["completionMode"], "Indexed")
        spec = job["spec"]["template"]["spec"]
        replay = spec["containers"][0]
        self.assertIn({"name": "DRIFTLESS_SHARDS", "value": str(count)}, replay["env"])
        out = replay["args"][replay["args"].index("--out") + 1]
        outs = [f"{out}/shard-{i}" for i in range(count)]  # as the parts name them
        merge = self.of_kind("merge.yaml", "Job")["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertEqual(merge[0], "merge")
        self.assertEqual(merge[1 : 1 + count], outs)
        # Pod 0 has the name at which they meet: NAME OF THE JOB-INDEX.SERVICE.
        service = self.of_kind("job.yaml", "Service")
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertEqual(spec["subdomain"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["selector"], {"job-name": job["metadata"]["name"]})
        meet = replay["args"][replay["args"].index("--meet") + 1]
        host = f"{job['metadata']['name']}-0.{service['metadata']['name']}"
        self.assertEqual(meet, f"{host}:{replay['ports'][0]['containerPort']}")

    def test_a_noisy_node_does_not_end_the_run_of_all(self):
        job = self.of_kind("job.yaml", "Job")["spec"]["template"]["spec"]
        self.assertIn("--accept-noise", job["initContainers"][0]["args"])
        self.assertIn("calibrate --accept-noise", (CLUSTER / "driftless.sbatch").read_text())

    def test_a_job_that_failed_is_merged_too(self):
        """The commands that merge.yaml's comment gives, with a kubectl that tells one thing after
        the other."""
        comment = re.findall(r"^#   (.*)", (CLUSTER / "merge.yaml").read_text(), re.MULTILINE)
        (self.scratch / "sleep").write_text("#!/bin/sh\n")
        (self.scratch / "kubectl").write_text(
            '#!/bin/sh\ncd "$(dirname "$0")" && echo "$@" >> asked\n'
            'case $1 in get) head -n 1 told; sed -i 1d told;; esac\n')
        for name in ("sleep", "kubectl"):
            (self.scratch / name).chmod(0o755)
        path = {**os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}"}
        for told in (("", "FailureTarget", "FailureTarget Failed"),
                     ("Suspended", "SuccessCriteriaMet", "SuccessCriteriaMet Complete")):
            self.write("told", "".join(line + "\n" for line in told))
            self.write("asked", "")
            subprocess.run(["sh", "-c", "\n".join(comment)], env=path, check=True, timeout=60)
            asked = (self.scratch / "asked").read_text().splitlines()
            self.assertEqual([line.split()[0] for line in asked], ["get", "get", "get", "apply"])
            self.assertEqual(asked[-1], "apply -f merge.yaml")

    def test_their_flags_are_there(self):
        known = {
            name: subprocess.run([DRIFTLESS, name, "--help", "all"], capture_output=True, text=True, check=True).stdout
            for name in ("replay", "calibrate", "merge")
        }
        for spec in [*self.pods(), self.of_kind("merge.yaml", "Job")["spec"]["template"]["spec"]]:
            for container in spec.get("initContainers", []) + spec["containers"]:
                command, *flags = container["args"]
                flags = {one for one in flags if one.startswith("--")}
                if "--shard" not in known["replay"]:  # a build of before there were shards
                    flags -= {"--meet", "--meet-timeout"}
                for flag in flags:
                    self.assertIn(flag, known[command], f"{command} {flag}")

    def test_the_script_is_one(self):
        subprocess.run(["bash", "-n", str(CLUSTER / "driftless.sbatch")], check=True)


if __name__ == "__main__":
    unittest.main()
