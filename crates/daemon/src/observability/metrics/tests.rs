//! Scrapes of synthetic counters, checked against the format. No port is opened.

mod check;
mod insight;
mod scrape;
