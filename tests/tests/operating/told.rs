//! A pool that runs empty is told once to a program, and told again when it is back.

use std::os::unix::fs::PermissionsExt;

use tests::e2e::place::Place;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::setup::Setup;
use tests::e2e::wait;

#[test]
fn a_program_is_told_once_that_a_pool_is_empty_and_once_that_it_is_back() {
    let origins = [origin("a"), origin("b")];
    let setup = Setup::http(&addresses(&origins));
    let place = Place::new(&setup);
    let told = place.dir().join("told");
    let text =
        format!("#!/bin/sh\necho \"$STEELYARD_EVENT $STEELYARD_POOL\" >> {}\n", told.display());
    let hook = place.dir().write("hook", text);
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hook = format!(
        "[[global.hook]]\nname = \"page\"\nrun = \"{}\"\non = [\"pool-empty\", \"pool-back\"]\nat-once = 1",
        hook.display()
    );
    place.write(&setup.more(&hook));
    let _process = place.start();
    for _ in 0..2 {
        place.done(&["server", "drain", "web/a"]);
        place.done(&["server", "disable", "web/b"]);
        place.done(&["server", "enable", "web/*"]);
    }
    let expected = "pool-empty web\npool-back web\n".repeat(2);
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    wait::until("the program was told", || said().len() >= expected.len());
    assert_eq!(said(), expected, "each once, in order");
}
