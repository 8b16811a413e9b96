//! Configurations of other balancers into Steelyard's, and a list of what could not be carried over.
//!
//! Pure: text in, text and notes out. One module a dialect, each with a reader of its own grammar; what they share is
//! the document that is written (`document`), conditions (`condition`), and the judge that lets nothing out that
//! `steelyard check` would refuse (`fit`). It opens no file and follows no include.

pub mod dialect;
pub mod notes;
pub mod run;

mod condition;
mod dispatcher;
mod document;
mod duration;
mod empty_pool;
mod haproxy;
mod keepalived;
mod ledger;
mod names;
mod nginx;
mod source;
mod template;
mod validation;
mod value;
