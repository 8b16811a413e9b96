mod scheduling;
mod servers;
