//! Files of passwords, with hashes that `htpasswd`, `mkpasswd`, `argon2` and `openssl passwd` have made.

use super::*;
use crate::password_hash::PasswordHashError as HashError;

const KEY: DecoyKey = DecoyKey { low: 1, high: 2 };

/// Hashes with their passwords.
const HASHES: [[&str; 2]; 12] = [
    ["open sesame", "$2y$05$oKd39FlQXrO6ZAb.Bp17q.dvnwlgmQoTl/32LjWQJ40UDU7SXiBve"],
    ["ü€", "$2y$05$sabG/RzTHijGiAPzj1JTnOkg1Mfi9mEvSemC4.wa8N4ag1MyrWgXe"],
    [
        "open sesame",
        "$6$QcMDZbKF/dxAqgMF$drqecuG3JCTTX2aKohYOnoWOiWCZCcm7xuV3x1DOeBmLB1xfr4YHivU2PTtq4COENQTNw5sNWlxAgtvpTk0VJ0",
    ],
    [
        "",
        "$6$O6xNIpQzee8DLiEd$Xpcsnqu0IyRWYqqDXwbAWDev1AnJ0rNRbsk6b21FDlUCmUePhZIqZWqV8.yp/OZg52H3Mse4ZrS8Mgdgm5o/e.",
    ],
    [
        "p",
        "$6$short$xsN.pyVdfrC.NFyKpj0McNWK.c7vyPl2HSThfag1cHbdashqoSVl0MA6oh/E0xWLDvwMfzmsRsh7L5XY7PjTH1",
    ],
    [
        "open sesame",
        "$6$rounds=10000$uZ.1uPJMTIBJdKC1$SzQbS6bWEr2mEKcfVD93DNzH45PpDnwr/rLmAqQqy1zFC6P5glrlIzR5XkbStHDwkKbYh5r3aedqeRSMPPppc/",
    ],
    ["open sesame", "$5$d1TaKvDaxki5cDxn$k3sWaDziPSCyt7afzHFBsSCICZ6vFwE5GVS5F/NU9F7"],
    ["open sesame", "$apr1$fI.O7AED$DRX0NO3x3.3DbKANlVUoD/"],
    ["0123456789abcdefXYZ", "$apr1$5VnAmJ8i$j49CB8clCTLhCD5HmvNrQ/"],
    ["a", "$apr1$x$16j9.5e7KiXmuYFAYpPJM/"],
    [
        "open sesame",
        "$argon2id$v=19$m=4096,t=2,p=1$c2FsdHNhbHQ$S94tDwWJzjltREDP6A5qDSu+k1EV55ZmLejDN28eSzo",
    ],
    [
        "open sesame",
        "$argon2i$v=19$m=1024,t=3,p=2$c2FsdHNhbHQ$qJ0Md9OT3LKmtwUKX8EVizq6Yu6zqjbHHM0dyWZPafM",
    ],
];

fn error(text: &str) -> CredentialFileError {
    PasswordFile::parse(text, KEY).unwrap_err()
}

#[test]
fn hashes_of_other_programs_are_checked() {
    for [password, hash] in HASHES {
        let file = PasswordFile::parse(&format!("u:{hash}\n"), KEY).unwrap();
        assert!(file.check("u", password.as_bytes()), "{hash}");
        for other in ["open sesam", "open sesame ", "Open sesame", "0123456789abcdefXY", "b"] {
            assert!(!file.check("u", other.as_bytes()), "{hash}, {other}");
        }
    }
}

#[test]
fn an_unknown_name_is_refused_though_its_decoy_has_the_password() {
    let file = PasswordFile::parse(&format!("u:{}", HASHES[7][1]), KEY).unwrap();
    for name in ["", "v", "U", "u "] {
        assert_eq!(file.decoy(name), 0, "the work is done for it too");
        assert!(!file.check(name, b"open sesame"), "{name:?}");
    }
    let lines: Vec<String> =
        (0..8).map(|at| format!("u{at}:{}", HASHES[usize::from(at % 2 == 0)][1])).collect();
    let file = PasswordFile::parse(&lines.join("\n"), KEY).unwrap();
    let taken: std::collections::BTreeSet<usize> =
        (0..100).map(|at| file.decoy(&format!("name{at}"))).collect();
    assert_eq!(taken.len(), 8, "decoys cost as users do");
}

#[test]
fn passwords_that_programs_read_differently_or_that_cost_much_are_refused() {
    let file = PasswordFile::parse(&format!("u:{}", HASHES[0][1]), KEY).unwrap();
    assert!(!file.check("u", b"open sesame\0"));
    let salt = "$6$short$";
    let long = vec![b'a'; MAX_PASSWORD_BYTES + 1];
    let file = PasswordFile::parse(&format!("u:{salt}{}", "x".repeat(86)), KEY).unwrap();
    assert!(!file.check("u", &long));
}

#[test]
fn comments_empty_lines_and_further_fields_are_passed_over() {
    let hash = HASHES[9][1];
    let file =
        PasswordFile::parse(&format!("# users\n\n  \nann:{hash}:x:y\r\nbob: {hash} \n"), KEY);
    let file = file.unwrap();
    assert_eq!(file.len(), 2);
    assert!(file.check("ann", b"a") && file.check("bob", b"a"));
}

#[test]
fn what_cannot_be_used_is_named_with_its_line_and_never_shown() {
    let apr1 = HASHES[9][1];
    let hash = |source| CredentialFileError::Hash { line: 2, source };
    for (second, expected) in [
        ("plain", CredentialFileError::NoColon { line: 2 }),
        (":x", CredentialFileError::Name { line: 2 }),
        (" b:x", CredentialFileError::Name { line: 2 }),
        ("b\u{1}:x", CredentialFileError::Name { line: 2 }),
        ("b:hunter2", hash(HashError::UnknownForm)),
        ("b:{SHA}C5wmJdwh7wX2rU3fR8XyA4N6oyw=", hash(HashError::UnknownForm)),
        ("b:$1$abc$def", hash(HashError::UnknownForm)),
        ("b:$2y$05$short", hash(HashError::Malformed)),
        ("b:$apr1$x$short", hash(HashError::Malformed)),
        ("b:$apr1$x", hash(HashError::Malformed)),
        ("b:$5$salt$short", hash(HashError::Malformed)),
        ("b:$6$rounds=9$salt$x", hash(HashError::Malformed)),
        ("b:$argon2id$v=19$m=4096", hash(HashError::Malformed)),
    ] {
        let found = error(&format!("a:{apr1}\n{second}\n"));
        assert_eq!(found, expected, "{second}");
        assert!(!found.to_string().contains("hunter2"));
    }
    assert_eq!(error(&format!("a:{apr1}\na:{apr1}")), CredentialFileError::NameTwice { line: 2 });
    assert_eq!(error("# nobody\n"), CredentialFileError::Empty);
    let lines = (0..=MAX_USERS).map(|at| format!("u{at}:{apr1}\n")).collect::<String>();
    assert_eq!(error(&lines), CredentialFileError::TooMany);
}

#[test]
fn hashes_that_cost_too_much_are_refused() {
    let bcrypt = HASHES[0][1].replace("$05$", "$16$");
    let sha = HASHES[5][1].replace("10000", "500001");
    let argon2 = |params: &str| HASHES[10][1].replace("m=4096,t=2", params);
    for (hash, named) in [
        (bcrypt, "a cost of 16; expected at most 15"),
        (sha, "500001 rounds; expected at most 500000"),
        (argon2("m=262145,t=1"), "262145 KiB of memory; expected at most 262144 KiB"),
        (argon2("m=262144,t=5"), "5 passes over 262144 KiB; expected at most 1048576 KiB in all"),
    ] {
        let text = error(&format!("a:{hash}")).to_string();
        assert!(text.contains(named), "{text}");
    }
}
