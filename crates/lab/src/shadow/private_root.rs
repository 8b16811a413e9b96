//! The private root of a program that runs in a shadow run: it sees the machine's programs, and writes nothing to them.
//!
//! Directories of the machine lie beneath an overlay in memory. Files of the run lie above, at the paths that the
//! configuration names. All of it ends with the program.

use std::path::Path;

/// Where the private root has the file that was given as `program`.
pub const PROGRAM: &str = "/run/shadow-program";

/// The script that `sh` runs in a mount namespace of its own. Its arguments are the run's directory, the side's
/// directory of files, Steelyard's program, and then the command.
pub const SCRIPT: &str = r#"
set -e
dir=$1 files=$2 program=$3
shift 3
new=$dir/root
mkdir -p "$new"
mount -t tmpfs -o mode=0755 shadow "$new"
mkdir "$new/.over"
for one in /*; do
  name=${one#/}
  if [ -L "$one" ]; then cp -P "$one" "$new/$name"; continue; fi
  [ -d "$one" ] || continue
  mkdir -p "$new/$name"
  case $name in
    sys|dev) mount --rbind "$one" "$new/$name" ;;
    proc) mount -t proc proc "$new/proc" 2>/dev/null || mount --rbind /proc "$new/proc" ;;
    bin|etc|lib*|opt|sbin|srv|usr|var)
      mkdir -p "$new/.over/$name/upper" "$new/.over/$name/work"
      mount -t overlay overlay -o "lowerdir=$one,upperdir=$new/.over/$name/upper,workdir=$new/.over/$name/work" "$new/$name" ;;
    tmp) chmod 1777 "$new/tmp" ;;
  esac
done
mkdir -p "$new/run" "$new$dir"
mount --bind "$dir" "$new$dir"
# A link there would lead out of the files of the run.
rm -f "$new/etc/resolv.conf"
cp -R "$files/." "$new/"
touch "$new/run/shadow-program"
mount --bind "$program" "$new/run/shadow-program"
ulimit -n 1048576 2>/dev/null || ulimit -n "$(ulimit -H -n)"
# This shell stays the first process of its namespace, so that all others end with it. The program itself may change its
# user, and a process that does so no longer hears of its parent's end (PR_SET_PDEATHSIG, prctl(2)).
chroot "$new" "$@"
exit $?
"#;

/// The arguments of `unshare` that run a command in a private root.
pub fn unshare_arguments(
    dir: &Path,
    files: &Path,
    program: &Path,
    command: &[String],
) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    let mut all: Vec<String> = [
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--propagation",
        "private",
        "sh",
        "-c",
        SCRIPT,
        "shadow",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend([text(dir), text(files), text(program)]);
    all.extend(command.iter().cloned());
    all
}
