"""The files that every job has in its folder, whatever it does, and the folders of a store that hold jobs."""

ASKED = "task.json"  # the verb and its request, sealed
STATUS = "status.json"  # how it stands, sealed
HEARTBEAT = "heartbeat.json"  # a counter that goes up while its process lives, and what it is at
REQUEST = "request.json"  # what somebody asks of it while it runs: stop, pause, cancel
LOCK = ".lock"  # held by the one process that writes the folder
LOG = "log.txt"  # what its process printed
RESULTS = "files"  # results, each named with its checksum

QUEUE, WORKER, TASKS = ".queue", ".worker", ".tasks"  # tickets; what each machine's worker needs; jobs
