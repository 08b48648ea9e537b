# Kills every process with an entry in its environment that matches the extended regular expression $1. First it waits for the end of its standard
# input: with a pipe whose other end a process holds, that is when the process closes it or ends.
cat >/dev/null
marked() { grep -lszxE -e "$1" /proc/[0-9]*/environ | cut -d/ -f3; }
# A NodeManager may start one more container while it is being killed, so one round is not enough.
rounds=100
while pids=$(marked "$1") && [ -n "$pids" ]; do
	kill -9 $pids 2>/dev/null
	rounds=$((rounds - 1))
	if [ $rounds -eq 0 ]; then
		echo "still alive after SIGKILL:" $pids >&2
		exit 1
	fi
	sleep 0.05
done
exit 0
