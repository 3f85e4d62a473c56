"""The files that every job has in its folder, whatever it does."""

STATUS = "status.json"  # how it stands, sealed
HEARTBEAT = "heartbeat.json"  # a counter that goes up while its process lives, and what it is at
REQUEST = "request.json"  # what somebody asks of it while it runs: stop, pause, cancel
LOCK = ".lock"  # held by the one process that writes the folder
LOG = "log.txt"  # what its process printed
RESULTS = "files"  # results, each named with its checksum
