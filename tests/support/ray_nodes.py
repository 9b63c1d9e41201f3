"""Nodes of a cluster of Ray on this machine, in a process of their own: `python -m` with words.

A line of standard input takes the last one away.
"""

from __future__ import annotations

import sys


def main():
    from ray.cluster_utils import Cluster

    nodes = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    try:
        added = [nodes.add_node(wait=False, num_cpus=1, num_gpus=1) for _ in range(2)]
        nodes.wait_for_nodes(timeout=120)
        print("address", nodes.address, flush=True)
        for _ in sys.stdin:
            nodes.remove_node(added.pop(), allow_graceful=False)
            print("removed", flush=True)
    finally:
        nodes.shutdown()


if __name__ == "__main__":
    main()
