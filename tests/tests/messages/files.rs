//! Files that cannot be read or written, and files of other kinds than the command needs.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::cli_environment::run_command;
use tests::e2e::dir::TestDir;

use crate::raw_text::{is_plain, refuses};

/// A file that its owner alone may read.
fn private_file(dir: &TestDir, name: &str, content: &[u8]) -> String {
    let file = dir.write(name, content);
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file.display().to_string()
}

fn run(dir: &TestDir, arguments: &[&str], says: &[&str]) {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(dir.path());
    refuses(&arguments.join(" "), &run_command(command), says);
}

#[test]
fn files_that_are_absent_or_of_another_kind_are_named() {
    let dir = TestDir::new();
    dir.write("garbage", "garbage\n");
    dir.write("latin", b"# \xff\n");
    for verb in [&["check"][..], &["plan-change"], &["apply"], &["capacity"]] {
        let arguments = [verb, &["absent.toml"]].concat();
        run(&dir, &arguments, &["absent.toml", "No such file", "check the path"]);
    }
    run(&dir, &["check", "."], &["cannot read .", "Is a directory", "name a file"]);
    run(&dir, &["check", "latin"], &["latin", "UTF-8"]);
    run(&dir, &["explain", "trace", "absent"], &["absent", "check the path"]);
    run(&dir, &["explain", "trace", "garbage"], &["67 61 72 62", "expected pcap"]);
    run(&dir, &["compare", "absent", "absent"], &["absent", "check the path"]);
    run(&dir, &["compare", "garbage", "garbage"], &["garbage", "it is not JSON"]);
    run(&dir, &["lab", "up", "absent"], &["absent"]);
    run(&dir, &["token", "view", "x", "--into", "."], &["to .", "Is a directory", "name a file"]);
    run(&dir, &["token", "view", "x", "--into", "no/t"], &["no/t", "check the path"]);
    dir.write("kept.toml", "");
    run(&dir, &["init", "kept.toml"], &["kept.toml exists", "--force"]);
}

#[test]
fn a_full_disk_is_named() {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" version > /dev/full"]).arg(program());
    refuses("a full disk", &run_command(command), &["No space left", "free space"]);
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let dir = TestDir::new();
    let good = dir.join("good.pem");
    let other = dir.join("other.pem");
    let authority = CertificateAuthority::new("own");
    authority.pair(good.clone(), &certificate_for(&["a.example"]));
    authority.pair(other.clone(), &certificate_for(&["b.example"]));
    let [good, other] = [good, other].map(|file| std::fs::read_to_string(file).unwrap());
    let part = |text: &str, kind: &str| {
        let begin = text.find(&format!("-----BEGIN {kind}")).unwrap();
        let end = begin + text[begin..].find("-----END").unwrap();
        let end = end + text[end..].find('\n').unwrap() + 1;
        text[begin..end].to_owned()
    };
    let certificate = part(&good, "CERTIFICATE");
    let key = part(&good, "PRIVATE KEY");
    let foreign = part(&other, "PRIVATE KEY");
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let damaged = certificate.replacen('M', "!", 1);
    let request = certificate.replace("CERTIFICATE", "CERTIFICATE REQUEST");
    let ssh = certificate.clone() + &key.replace("PRIVATE KEY", "OPENSSH PRIVATE KEY");
    for (name, text, says) in [
        ("encrypted.pem", certificate.clone() + &encrypted, "openssl pkey -in FILE"),
        ("damaged.pem", damaged, "line 2 is not base64"),
        ("request.pem", request, "a request for a certificate"),
        ("ssh.pem", ssh, "a key of SSH"),
        (
            "open.pem",
            certificate[..certificate.find("-----END").unwrap()].to_owned(),
            "no `-----END` line",
        ),
        ("empty.pem", String::new(), "no certificate in it: the file is empty"),
        ("garbage.pem", "garbage\n".to_owned(), "no certificate"),
        ("certificate.pem", certificate.clone(), "no private key"),
        ("key.pem", key.clone(), "no certificate"),
        ("mixed.pem", format!("{certificate}{foreign}"), "the key is not that of the certificate"),
        ("cut.pem", format!("{}\n{key}", &certificate[..200]), "the file was cut off"),
    ] {
        let file = private_file(&dir, name, text.as_bytes());
        dir.write(
            "c.toml",
            format!(
                "[service.web]\nlisten = \"127.0.0.1:8080\"\nforward = \"http\"\npool = \"p\"\ntls = \"{file}\"\n\
                 [pool.p]\nservers = [\"127.0.0.1:8081\"]\n"
            ),
        );
        run(&dir, &["check", "c.toml"], &[&file, says]);
    }
    let readable = dir.write("readable.pem", good);
    std::fs::set_permissions(&readable, Permissions::from_mode(0o644)).unwrap();
    let text =
        std::fs::read_to_string(dir.join("c.toml")).unwrap().replace("cut.pem", "readable.pem");
    dir.write("c.toml", text);
    run(&dir, &["check", "c.toml"], &["readable.pem has the mode 0644", "chmod"]);
}

#[test]
fn binary_certificates_are_named_with_the_command_that_converts_them() {
    let dir = TestDir::new();
    for (name, content, says) in [
        ("a.der", &b"\x30\x82\x01\x02\x30\x81\xd3"[..], "openssl x509 -inform der"),
        ("a.p12", b"\x30\x82\x04\x11\x02\x01\x03\x30", "openssl pkcs12 -in FILE"),
    ] {
        let file = private_file(&dir, name, content);
        for tls in [format!("\"{file}\""), format!("{{ ca = \"{file}\" }}")] {
            let [service, pool] =
                if tls.starts_with('"') { [&*tls, "\"off\""] } else { ["\"off\"", &*tls] };
            let text = format!(
                "[service.web]\nlisten = \"127.0.0.1:8080\"\nforward = \"http\"\npool = \"p\"\ntls = {service}\n\
                 [pool.p]\nservers = [\"127.0.0.1:8081\"]\ntls = {pool}\n"
            );
            dir.write("c.toml", text);
            run(&dir, &["check", "c.toml"], &[&file, says]);
        }
    }
}

#[test]
fn a_token_file_that_admits_nobody_is_a_warning_of_check() {
    let dir = TestDir::new();
    let pair = dir.join("good.pem");
    CertificateAuthority::new("own").pair(pair.clone(), &certificate_for(&["a.example"]));
    for (content, says) in [
        (Some("view alice\n"), "line 1: it has not three words; expected `ROLE NAME"),
        (
            Some("root alice sha256:00\n"),
            "line 1: the role is not lease, view, operate or configure",
        ),
        (None, "No such file or directory"),
    ] {
        let tokens = match content {
            Some(text) => private_file(&dir, "tokens", text.as_bytes()),
            None => "/nonexistent/tokens".to_owned(),
        };
        let text = format!(
            "[global]\ncontrol = {{ listen = \"127.0.0.1:9443\", certificate = {pair:?}, tokens = {tokens:?} }}\n\
             [pool.p]\nservers = [\"127.0.0.1:8081\"]\n"
        );
        dir.write("c.toml", text);
        let mut command = Command::new(program());
        command.args(["check", "c.toml"]).current_dir(dir.path());
        let done = run_command(command);
        let all = format!("{}{}", done.stdout, done.stderr);
        assert!(done.code == 0 && all.contains("warning: c.toml:2"), "{done:?}");
        assert!(all.contains(says) && all.contains(&tokens), "{says}:\n{all}");
        is_plain(says, &all);
    }
}
