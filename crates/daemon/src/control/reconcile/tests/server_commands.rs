//! Every server command after every other one: the last one counts. And a clock that is set in between.

use std::time::{Duration, SystemTime};

use model::config::load;
use model::id::{PoolId, ServerId};
use model::snapshot::ServerState;

use crate::state::origin::{ChangeOrigin, ChangeTrigger};
use crate::state::server_command::OperatorCommand;
use crate::state::server_state::{apply_clock_step, apply_command, new_server_facts};
use crate::state::state_snapshot::ServerFacts;
use crate::util::wall_clock::ClockStep;

const LIMIT: Duration = Duration::from_secs(3_600);

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_212_000 + seconds)
}

fn server(state: &str) -> ServerFacts {
    let text = format!(
        "[service.shop]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"web\"\n\
         [pool.web]\nservers = [{{ address = \"10.0.0.1:80\"{state} }}, \"10.0.0.2:80\"]\n"
    );
    let config = load(&text, "test.toml").unwrap_or_else(|findings| panic!("{findings}")).config;
    let pool = &config.pools["web"];
    new_server_facts(ServerId(0), PoolId(0), pool, &pool.servers[0], at(0))
}

fn order(facts: &ServerFacts, word: &OperatorCommand, seconds: u64) -> ServerFacts {
    apply_command(facts, word.clone(), ChangeOrigin::new("tester", ChangeTrigger::Api), at(seconds))
}

/// Orders that set a state, and the state.
fn words() -> Vec<(OperatorCommand, ServerState)> {
    let window =
        OperatorCommand::Maintain { from: None, until: Some(at(3_600)), reason: String::new() };
    vec![
        (OperatorCommand::Enable, ServerState::Up),
        (OperatorCommand::Drain, ServerState::Drain),
        (OperatorCommand::Disable, ServerState::Disabled),
        (OperatorCommand::Cut, ServerState::Disabled),
        (OperatorCommand::Quiesce(LIMIT), ServerState::Drain),
        (window, ServerState::Disabled),
    ]
}

#[test]
fn of_two_orders_the_second_counts_whatever_the_first_was() {
    for file in ["", ", state = \"drain\"", ", state = \"disabled\""] {
        for (first, _) in words() {
            for (second, state) in words() {
                let facts = order(&order(&server(file), &first, 1), &second, 2);
                // A window disables until it is over, or the server is enabled.
                let window = matches!(first, OperatorCommand::Maintain { .. });
                let state = match second {
                    OperatorCommand::Enable => state,
                    _ if window => ServerState::Disabled,
                    _ => state,
                };
                assert_eq!(facts.state, state, "{file} {first:?} {second:?}: {}", facts.reason);
                let keeps = matches!(second, OperatorCommand::Quiesce(_)) && !window;
                assert_eq!(facts.affinity_until.is_some(), keeps, "{file} {first:?} {second:?}");
            }
        }
    }
}

#[test]
fn a_limit_lasts_as_long_whichever_way_the_clock_is_set() {
    let day = Duration::from_secs(86_400);
    for (step, now) in [(ClockStep::Back(day), at(60) - day), (ClockStep::Ahead(day), at(60) + day)]
    {
        let quiesced = order(&server(""), &OperatorCommand::Quiesce(LIMIT), 0);
        let facts = apply_clock_step(&quiesced, step, now);
        assert_eq!(facts.state, ServerState::Drain, "{step:?}");
        let left = facts.affinity_until.and_then(|until| until.duration_since(now).ok());
        assert_eq!(left, Some(LIMIT - Duration::from_secs(60)), "{step:?}");
    }
}
