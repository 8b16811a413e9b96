//! The normal distribution and Student's: cumulative probabilities and quantiles.

/// The cumulative probability below `z`; accurate to 1e-7 (Abramowitz and Stegun 7.1.26).
pub fn cumulative(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let sum = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    let tail = sum * (-x * x).exp() / 2.0;
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// The quantile of a probability. Probabilities of 0 and 1 give the ends of the search range, ±9.
pub fn quantile(area: f64) -> f64 {
    bisect(area, 9.0, cumulative)
}

/// The quantile of a probability in Student's distribution.
pub fn student_quantile(area: f64, freedom: f64) -> f64 {
    bisect(area, 1e4, |t| student_cumulative(t, freedom))
}

/// The cumulative probability below `t` in Student's distribution with `freedom` degrees of freedom.
pub fn student_cumulative(t: f64, freedom: f64) -> f64 {
    let tail = beta_share(freedom / (freedom + t * t), freedom / 2.0, 0.5) / 2.0;
    if t < 0.0 { tail } else { 1.0 - tail }
}

fn bisect(area: f64, end: f64, below: impl Fn(f64) -> f64) -> f64 {
    let mut low = -end;
    let mut high = end;
    // A hundred halvings exhaust the 53 bits of a float from any start.
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if below(middle) < area { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz).
fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(1.0 - x, b, a);
    }
    let front = (log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * x.ln() + b * (1.0 - x).ln())
        .exp()
        / a;
    let small = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / small(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    // The continued fraction converges within a few dozen terms for the degrees of freedom of a test; the end bounds
    // it.
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = product;
        for factor in [even, odd] {
            d = 1.0 / small(1.0 + factor * d);
            c = small(1.0 + factor / c);
            product *= c * d;
        }
        if (product / before - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * product
}

/// The logarithm of the gamma function for positive arguments, by Stirling's series after a shift.
fn log_gamma(x: f64) -> f64 {
    let mut shift = 0.0;
    let mut z = x;
    while z < 10.0 {
        shift -= z.ln();
        z += 1.0;
    }
    let series = 1.0 / (12.0 * z) - 1.0 / (360.0 * z.powi(3)) + 1.0 / (1260.0 * z.powi(5));
    shift + (z - 0.5) * z.ln() - z + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabled_points() {
        for (area, expected) in
            [(0.975, 1.959_964), (0.995, 2.575_829), (0.5, 0.0), (0.025, -1.959_964)]
        {
            assert!((quantile(area) - expected).abs() < 1e-4, "{area}: {}", quantile(area));
        }
        // Student's table: 95 % and 99 %, two-sided.
        for (area, freedom, expected) in [
            (0.975, 1.0, 12.706),
            (0.975, 4.0, 2.776),
            (0.995, 9.0, 3.250),
            (0.995, 2.0, 9.925),
            (0.975, 100.0, 1.984),
        ] {
            let found = student_quantile(area, freedom);
            assert!((found - expected).abs() < 2e-3, "{area} {freedom}: {found}");
        }
    }

    #[test]
    fn the_studys_comparison_in_its_own_terms() {
        // Welch's t of 21.3 with 3.73 degrees of freedom, and 8.77 with 2.66: p of about 5e-5 and 0.005.
        let p = |t: f64, freedom| 2.0 * (1.0 - student_cumulative(t, freedom));
        assert!((3e-5..8e-5).contains(&p(21.3, 3.73)), "{}", p(21.3, 3.73));
        assert!((0.004..0.006).contains(&p(8.77, 2.66)), "{}", p(8.77, 2.66));
    }
}
