mod check;
mod scrape;
