//! The shipped unit under a separate systemd: each packet plane works with its drop-in, and does not work without it.
//!
//! systemd runs as the first process of separate namespaces. The test needs root, and systemd's package.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::net::{ChecksumMode, NetworkNamespace, VethEnd, create_veth, find};
use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;
use tests::skip::skip;

const SYSTEMD: &str = "/lib/systemd/systemd";
const UNIT: &str = "steelyard.service";
/// The path of the daemon's program inside.
const PROGRAM: &str = "/run/program/steelyard";
/// The mount point of the test's cgroups, independent of other mounts.
const GROUPS: &str = "/run/groups";

/// A plane: its drop-in, its configuration, and the problem that `status` reports.
struct PlaneUnit {
    name: &'static str,
    config: &'static str,
    wrong: fn(&Value) -> Option<String>,
}

const PLANES: [PlaneUnit; 4] = [
    PlaneUnit {
        name: "packets",
        config: "[service.shop]\nlisten = \"10.61.0.10:80\"\nforward = \"mac\"\npool = \"web\"\n\
                 [pool.web]\nservers = [\"10.61.0.2:80\"]\n",
        wrong: |status| text(&status["packets"], "problem"),
    },
    PlaneUnit {
        name: "links",
        config: "[link.up]\npolicy = \"round-robin\"\naddresses = \"10.63.0.1\"\nroutes = \"10.63.0.2/32\"\n\
                 links = [{ interface = \"eth0\", via = \"10.61.0.2\" }, { interface = \"eth1\", via = \"10.62.0.2\", delay = \"6ms\" }]\n",
        wrong: |status| {
            let bundle = &status["links"][0];
            // The shorter link's packets are held by a thread with a packet socket.
            let held = bundle["links"][0]["added-delay-us"].as_u64() > Some(0);
            (bundle["state"] != "up" || !held).then(|| bundle.to_string())
        },
    },
    PlaneUnit {
        name: "uplinks",
        config: "[uplink.one]\ninterface = \"eth0\"\nvia = \"10.61.0.2\"\nprobe = { echo = \"10.61.0.2\" }\n",
        wrong: |status| {
            let all = &status["uplinks"];
            let good = all["problems"].as_array().is_none_or(Vec::is_empty)
                && all["uplinks"][0]["state"] == "up";
            (!good).then(|| all.to_string())
        },
    },
    PlaneUnit {
        name: "vrrp",
        config: "[vrrp.front]\ninterface = \"eth0\"\nid = 51\naddresses = \"10.61.0.50\"\nadvertise = \"100ms\"\n",
        wrong: |status| {
            let member = &status["vrrp"][0];
            (member["state"] != "active").then(|| member.to_string())
        },
    },
];

fn text(of: &Value, key: &str) -> Option<String> {
    match &of[key] {
        Value::Null if of.is_null() => Some("not there".to_owned()),
        Value::Null => None,
        found => Some(found.to_string()),
    }
}

/// A machine with systemd, which is removed on drop.
struct SystemdMachine {
    systemd: ChildProcess,
    dir: TestDir,
    groups: PathBuf,
    _host: NetworkNamespace,
    _far: NetworkNamespace,
}

impl SystemdMachine {
    /// Starts the unit with these drop-ins and this configuration.
    fn start(drop_ins: &[&str], config: &str) -> SystemdMachine {
        let host = NetworkNamespace::new("host").unwrap();
        let far = NetworkNamespace::new("far").unwrap();
        for (link, net) in [("eth0", 61), ("eth1", 62)] {
            let end = |namespace| VethEnd { namespace, link };
            create_veth(end(&host), end(&far), 1500, ChecksumMode::Offloaded).unwrap();
            host.ip(&format!("addr add 10.{net}.0.1/24 dev {link}\n")).unwrap();
            far.ip(&format!("addr add 10.{net}.0.2/24 dev {link}\n")).unwrap();
        }
        let dir = TestDir::new();
        lay_units(&dir, drop_ins);
        dir.write("steelyard.toml", config);
        let groups = PathBuf::from(format!("{}-{}", std::process::id(), host.name()));
        let script = dir.write("start", start_script(dir.path(), &groups));
        let mut command = host.command(find("unshare"));
        command.args(["-m", "sh"]).arg(script);
        let systemd = ChildProcess::start(command);
        SystemdMachine { systemd, dir, groups, _host: host, _far: far }
    }

    /// The process ID of systemd, the first process inside.
    fn first(&self) -> Option<String> {
        let mut pid = self.systemd.pid().to_string();
        loop {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            if name.trim() == "systemd" {
                return Some(pid);
            }
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
            pid = children.split_whitespace().next()?.to_owned();
        }
    }

    fn status(&self) -> Option<Value> {
        let mut command = Command::new(find("nsenter"));
        command.args(["-m", "-p", "-n", "-t", &self.first()?, PROGRAM, "status", "--json"]);
        let done = command.output().ok()?;
        serde_json::from_slice(&done.stdout).ok()
    }

    /// The output of the daemon and of systemd.
    fn said(&self) -> String {
        let daemon = fs::read_to_string(self.dir.path().join("said")).unwrap_or_default();
        format!("{daemon}\n-- systemd:\n{}", self.systemd.output())
    }
}

impl Drop for SystemdMachine {
    fn drop(&mut self) {
        if let Some(first) = self.first() {
            // systemd, as the first process of its PID namespace, only ends on SIGKILL.
            let _ = Command::new("kill").args(["-KILL", &first]).status();
        }
        if std::thread::panicking() {
            println!("{}", self.said());
            return;
        }
        wait::until("systemd is gone", || self.systemd.try_wait().is_some());
        // Its child processes end a moment later.
        wait::until("its group is empty and removed", || {
            let remove = Command::new("sh").arg("-c").arg(empty_group(&self.groups)).output();
            remove.is_ok_and(|done| done.status.success())
        });
    }
}

/// A command that removes the remaining cgroups of the test's systemd. It mounts cgroup2 again, because the local mount
/// point varies.
fn empty_group(groups: &Path) -> String {
    let groups = groups.display();
    format!(
        "exec unshare -m sh -c 'mount --make-rprivate / && mount -t cgroup2 cgroup2 /mnt && \
         find /mnt/steelyard-test-{groups} -depth -type d -exec rmdir {{}} +'"
    )
}

/// The shipped unit, with changed paths of its program and files.
fn lay_units(dir: &TestDir, drop_ins: &[&str]) {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/systemd");
    let unit = fs::read_to_string(shipped.join(UNIT)).unwrap();
    let line = "ExecStart=/usr/bin/steelyard run --config /etc/steelyard/steelyard.toml";
    assert!(unit.contains(line), "{unit}");
    let said = dir.path().join("said").display().to_string();
    let mut unit = unit.replace(
        line,
        &format!(
            "ExecStart={PROGRAM} run --config /run/program/steelyard.toml\n\
             StandardOutput=append:{said}\nStandardError=append:{said}"
        ),
    );
    // systemd before 253 logs an unknown type and ignores the line.
    unit = unit.replace("Type=notify-reload\n", "");
    unit = unit.replace("[Unit]\n", "[Unit]\nDefaultDependencies=no\n");
    let units = dir.path().join("units");
    let more = units.join(format!("{UNIT}.d"));
    fs::create_dir_all(&more).unwrap();
    fs::write(units.join(UNIT), unit).unwrap();
    fs::write(units.join("only.target"), format!("[Unit]\nWants={UNIT}\n")).unwrap();
    for name in drop_ins {
        let file = format!("{name}.conf");
        fs::copy(shipped.join("planes").join(&file), more.join(&file)).unwrap();
    }
}

/// A script that creates mounts and the package's user, and starts systemd as the first process.
fn start_script(dir: &Path, groups: &Path) -> String {
    let dir = dir.display();
    let groups = groups.display();
    let program = program().canonicalize().unwrap();
    let program = program.display();
    format!(
        "set -e\n\
         mount --make-rprivate /\n\
         mount -t tmpfs -o mode=755 tmpfs /run\n\
         mkdir -p /run/systemd/system /run/program {GROUPS}\n\
         touch {PROGRAM}\n\
         mount --bind {program} {PROGRAM}\n\
         install -m 644 {dir}/steelyard.toml /run/program/\n\
         for file in passwd group; do cp /etc/$file /run/$file; done\n\
         grep -q ^steelyard: /run/passwd || echo 'steelyard:x:61999:61999::/:/usr/sbin/nologin' >>/run/passwd\n\
         grep -q ^steelyard: /run/group || echo 'steelyard:x:61999:' >>/run/group\n\
         for file in passwd group; do mount --bind /run/$file /etc/$file; done\n\
         mount -t sysfs sysfs /sys\n\
         mount -t bpf -o nosuid,nodev,noexec,mode=700 bpf /sys/fs/bpf\n\
         mount -t tmpfs tmpfs /var/lib\n\
         mount -t tmpfs tmpfs /var/log\n\
         mount -t cgroup2 cgroup2 {GROUPS}\n\
         mkdir -p {GROUPS}/steelyard-test-{groups}\n\
         echo $$ >{GROUPS}/steelyard-test-{groups}/cgroup.procs\n\
         export container=test SYSTEMD_UNIT_PATH={dir}/units\n\
         exec unshare --pid --fork --kill-child --mount-proc --cgroup sh -c '\n\
         umount {GROUPS}; mount -t cgroup2 cgroup2 /sys/fs/cgroup\n\
         exec {SYSTEMD} --system --unit=only.target --log-target=console --show-status=no'\n"
    )
}

fn can_run() -> bool {
    if !rustix::process::geteuid().is_root() {
        skip("systemd's own machine needs root");
        return false;
    }
    if !Path::new(SYSTEMD).exists() {
        skip("systemd is not installed");
        return false;
    }
    true
}

#[test]
fn each_plane_stands_with_its_drop_in_and_not_without() {
    if !can_run() {
        return;
    }
    for PlaneUnit { name, config, wrong } in &PLANES {
        let with = SystemdMachine::start(&[name], config);
        wait::until(&format!("{name} stands with its drop-in"), || {
            with.status().is_some_and(|status| wrong(&status).is_none())
        });
        let said = with.said();
        assert!(!said.contains("-trouble: ") && !said.contains("packets-failed"), "{name}: {said}");
        drop(with);

        let without = SystemdMachine::start(&[], config);
        let mut why = None;
        wait::until(&format!("{name} says what is missing"), || {
            why = without.status().and_then(|status| wrong(&status));
            let said = without.said();
            let words = ["CAP_", "not permitted", "not supported"];
            why.is_some() && words.iter().any(|word| said.contains(word))
        });
    }
}

#[test]
fn all_planes_stand_together() {
    if !can_run() {
        return;
    }
    let names = PLANES.map(|plane| plane.name);
    let config: String = PLANES.map(|plane| plane.config).concat();
    let machine = SystemdMachine::start(&names, &config);
    for PlaneUnit { name, wrong, .. } in &PLANES {
        wait::until(&format!("{name} stands"), || {
            machine.status().is_some_and(|status| wrong(&status).is_none())
        });
    }
}

#[test]
fn systemd_understands_the_unit_with_every_drop_in() {
    let Ok(analyze) = Command::new("systemd-analyze").arg("--version").output() else {
        return skip("systemd-analyze is not installed");
    };
    assert!(analyze.status.success());
    let dir = TestDir::new();
    lay_units(&dir, &PLANES.map(|plane| plane.name));
    let unit = dir.path().join("units").join(UNIT);
    let text = fs::read_to_string(&unit).unwrap();
    fs::write(&unit, text.replace(PROGRAM, &program().display().to_string())).unwrap();
    let mut verify = Command::new("systemd-analyze");
    let done =
        verify.args(["verify", "--man=no", "--recursive-errors=no"]).arg(&unit).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    let about: Vec<&str> = said.lines().filter(|line| line.contains("steelyard")).collect();
    assert!(about.is_empty(), "{said}");
    // `systemd-analyze` also accepts a drop-in that systemd would not read.
    assert_eq!(fs::read_dir(unit.with_extension("service.d")).unwrap().count(), PLANES.len());
}
