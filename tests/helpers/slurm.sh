#!/usr/bin/env bash
# A SLURM cluster of this machine alone, for tests and for trying commands out (Debian, root or not):
#   tests/helpers/slurm.sh start DIR; export SLURM_CONF=DIR/slurm.conf; …; tests/helpers/slurm.sh stop DIR
# Everything lies in DIR: its own munged and its own ports leave a SLURM of the machine alone.
set -euo pipefail
PATH="$PATH:/usr/sbin:/sbin"

die() {
  echo "error: $*" >&2
  exit 1
}

start() {
  local missing=()
  command -v munged >/dev/null || missing+=(munge)
  command -v slurmctld >/dev/null && command -v slurmd >/dev/null || missing+=(slurm-wlm)
  ((${#missing[@]} == 0)) || die "not installed: apt-get install ${missing[*]}"
  [[ ! -e $dir/slurm.conf ]] || die "$dir has a cluster; stop it first"
  mkdir -p "$dir"/{munge,state,spool}
  start_munged
  configure
  slurmctld
  slurmd
  wait_until_idle
}

start_munged() {
  (umask 077 && head -c 128 /dev/urandom >"$dir/munge/munge.key")
  # --force: a temporary folder is for us alone, and munged would have the socket open to all users.
  munged --force --key-file="$dir/munge/munge.key" --seed-file="$dir/munge/munged.seed" \
    --socket="$dir/munge/munge.socket" --pid-file="$dir/munge/munged.pid" \
    --log-file="$dir/munge/munged.log" 2>/dev/null || die "munged did not start: see $dir/munge/munged.log"
}

configure() {
  local port
  port=$(shuf -i 20000-29998 -n 1) # so that two clusters can run at a time
  cat >"$dir/slurm.conf" <<CONF
ClusterName=tests
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$dir/munge/munge.socket
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=sched_interval=1,batch_sched_delay=1
ReturnToService=2
$(slurmd -C | head -n 1) NodeAddr=127.0.0.1
PartitionName=tests Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
}

wait_until_idle() {
  for _ in {1..100}; do
    [[ $(sinfo --noheader --format=%T 2>/dev/null) != idle ]] || return 0
    sleep 0.2
  done
  die "the node is not idle after 20 seconds: see $dir/slurmctld.log and $dir/slurmd.log"
}

stop() {
  [[ -e $dir/slurm.conf ]] || die "$dir has no cluster"
  scancel --user="$(id -un)" 2>/dev/null || true
  for _ in {1..50}; do # jobs that are being taken down
    [[ -n $(squeue --noheader 2>/dev/null) ]] || break
    sleep 0.1
  done
  for daemon in slurmd slurmctld munge/munged; do
    end "$dir/$daemon.pid"
  done
  rm -f "$dir/slurm.conf"
}

end() {
  local process
  process=$(cat "$1" 2>/dev/null) || return 0
  kill "$process" 2>/dev/null || return 0
  for _ in {1..100}; do
    kill -0 "$process" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -9 "$process"
}

[[ $# == 2 && $1 =~ ^(start|stop)$ ]] || die "give start DIR or stop DIR"
dir=$(realpath -m "$2")
export SLURM_CONF=$dir/slurm.conf
"$1"
