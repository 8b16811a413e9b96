//! Invalid configurations: each is rejected with the location, the found value and the expected one.

use tests::e2e::balancer::program;
use tests::e2e::cli_environment::run_command;
use tests::e2e::dir::TestDir;

#[test]
fn bad_input_is_refused_at_check() {
    let dir = TestDir::new();
    for (pool, says) in [
        ("dynamic-weights = { active = 50, new = 40 }", "the judge's proportions make 90, not 100"),
        (
            "dynamic-weights = { active = 60, new = 60 }",
            "the judge's proportions make 120, not 100",
        ),
        ("probe = { tcp = true, interval = \"1s\", timeout = \"2s\" }", "`timeout` (2s) is longer"),
        ("probe = { http = \"/\", expect = \"(a{1000}){1000}\" }", "the expression is too large"),
        ("probe = { http = \"/\", expect = \"(a\" }", "not a regular expression"),
        ("agent = { kind = \"text\", interval = \"9s\", max-age = \"1s\" }", "age"),
        ("servers-from = { dns = \"x.test\", port = 80, min = 9, max = 3 }", "max"),
        ("schedule = [{ drain = \"25:00-26:00\" }]", "25:00"),
    ] {
        let text = format!(
            "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"p\"\n\
             [pool.p]\nservers = [\"127.0.0.1:2\"]\n{pool}\n"
        );
        let file = dir.write("steelyard.toml", text);
        let mut command = std::process::Command::new(program());
        command.arg("check").arg("-c").arg(&file);
        let said = run_command(command);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert_ne!(said.code, 0, "{pool}: {all}");
        assert!(all.contains(says) && all.contains("steelyard.toml"), "{pool}: {all}");
    }
}
