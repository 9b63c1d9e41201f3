"""Nodes of a cluster of Ray on this machine, in a process of their own: `python -m` with words.

Each line of standard input adds a node ("add") or takes the one that was added away ("remove").
"""

from __future__ import annotations

import sys


def main():
    from ray.cluster_utils import Cluster

    nodes = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        for _ in range(2):
            nodes.add_node(num_cpus=1, num_gpus=1)
        print("address", nodes.address, flush=True)
        added = None
        for line in sys.stdin:
            if line.strip() == "add":
                added = nodes.add_node(num_cpus=1)
            else:
                nodes.remove_node(added, allow_graceful=False)
            print("done", flush=True)
    finally:
        nodes.shutdown()


if __name__ == "__main__":
    main()
