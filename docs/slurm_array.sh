#!/usr/bin/env bash
# Grades a class as a Slurm job array: one shard per task, each in a results folder of its own.
#
#   grader secret --secret-file ~/class/secret.hex                   once, before the first array
#   sbatch --array=1-20 docs/slurm_array.sh ~/class/submissions ~/class/results ~/class/secret.hex
#   grader merge ~/class/results-*-of-20 --into ~/class/results      when all tasks have ended
#
# A task that failed or ran out of time is submitted again alone and keeps what it had graded. An
# array of one would be a class of one shard, so say how many there are:
#
#   COUNT=20 sbatch --array=7 docs/slurm_array.sh ~/class/submissions ...
#SBATCH --job-name=grade-class
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=12G
#SBATCH --time=04:00:00
#SBATCH --output=grade-%A-%a.log

set -euo pipefail

if [ "$#" -ne 3 ]; then
    echo "usage: sbatch --array=1-COUNT $0 SUBMISSIONS RESULTS SECRET_FILE" >&2
    exit 2
fi
submissions=$1 results=$2 secret=$3
shard=${SLURM_ARRAY_TASK_ID:?this script is for sbatch --array=1-COUNT}
count=${COUNT:-${SLURM_ARRAY_TASK_COUNT:?}}

# The environment with the grader; $GRADER_VENV when it is not on the PATH already.
if [ -n "${GRADER_VENV:-}" ]; then
    # shellcheck disable=SC1091
    source "$GRADER_VENV/bin/activate"
fi

exec grader run "$submissions" \
    --out "$results" \
    --shard "$shard/$count" \
    --secret-file "$secret" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}"
