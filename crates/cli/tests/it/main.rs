//! The program `deputize` from outside: what a person types, what comes back, what is left behind.
//!
//! Each test runs the real program in a home and a workspace of its own. All of them run as root
//! and again as an ordinary user.
#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod allowances;
mod audit;
mod auth;
mod bad_folder;
mod bad_input;
mod card;
mod completions;
mod configured;
mod copies;
mod day;
mod demo;
mod direct;
mod doctor;
mod exec;
mod exec_attacks;
mod exec_contained;
mod exec_limits;
mod exec_ports;
mod exec_protected;
mod exec_secrets;
mod exec_write;
mod explain;
mod explain_shell;
mod gate_hook;
mod hosts_claude;
mod hosts_codex;
mod hosts_scene;
mod install;
mod kill;
mod mcp_calls;
mod mcp_changes;
mod mcp_client;
mod mcp_ends;
mod mcp_models;
mod mcp_official;
mod mcp_protocol;
mod mcp_questions;
mod mcp_runs;
mod model_choice;
mod pi_gate;
mod pi_hostile;
mod pi_lost;
mod pi_models;
mod pi_package;
mod pi_questions;
mod pi_runs;
mod pi_scene;
mod pi_screen;
mod providers;
mod questions;
mod relay;
mod relay_limits;
mod rules;
mod run;
mod run_budget;
mod run_check;
mod run_refused;
mod scene;
mod secrets_canary;
mod state;
mod status_line;
mod stuck;
mod toolchain;
mod unprivileged_cage;
mod work;
mod work_providers;
mod work_toolchains;
mod work_tree;
mod work_tree_ends;

use deputize_testkit::forgotten_test_files;

#[test]
fn every_test_file_is_listed() {
    assert_eq!(forgotten_test_files(env!("CARGO_MANIFEST_DIR")), [""; 0]);
}
