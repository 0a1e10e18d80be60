"""Informers over the Python client, for a test: one for each address BASE/INDEX, of a kind without tenants.

Each lists, keeps a map of what its watch tells, and resumes a watch that was cut at the version of the last object. For
each line of standard input the program prints what every informer holds: a JSON list of objects, from name to value.
"""

import json
import sys
import threading
import time

import urllib3
from kubernetes import client, watch

KIND = ("berth.dev", "v1", "priorityclasses")
RECONNECT_SECONDS = 0.1


class Informer:
    def __init__(self, host):
        configuration = client.Configuration(host=host)
        self.api = client.CustomObjectsApi(client.ApiClient(configuration))
        self.held = {}

    def follow(self):
        while True:
            listed = self.api.list_cluster_custom_object(*KIND)
            self.held = {one["metadata"]["name"]: one["spec"]["value"] for one in listed["items"]}
            version = listed["metadata"]["resourceVersion"]
            while version is not None:
                version = self.watch(version)
                time.sleep(RECONNECT_SECONDS)

    def watch(self, version):
        """Follows until the watch is cut; returns the version to resume at, or None where the client has to list again."""
        events = watch.Watch()
        try:
            for event in events.stream(self.api.list_cluster_custom_object, *KIND, resource_version=version):
                name = event["object"]["metadata"]["name"]
                if event["type"] == "DELETED":
                    self.held.pop(name, None)
                else:
                    self.held[name] = event["object"]["spec"]["value"]
        except client.ApiException as error:
            if error.status != 410:
                raise
            return None
        except urllib3.exceptions.HTTPError:
            pass
        return events.resource_version


base, count = sys.argv[1], int(sys.argv[2])
informers = [Informer(f"{base}/{index}") for index in range(count)]
for informer in informers:
    threading.Thread(target=informer.follow, daemon=True).start()
for _ in sys.stdin:
    print(json.dumps([informer.held for informer in informers]), flush=True)
