//! Whether a name is a noun. A participle, a verb or a function word alone is not.

/// Function words and verbs that occurred as names, in lower case.
const NOT_NOUNS: &str = "
    again ahead also aside at behind below beside better beyond by due for from how instead last me mine more most new
    next no nobody nothing of off on once one other others out over own own same second short since slow such that then
    there these this those through to together towards until what when where whether which while who whole whose why
    with within without worse worst yes far full fresh bad big small scarce ready recent wrong fastest closer civil
    became become begin begins began bring brings brought came come comes did do does done eat fed felt find finds gave
    give given gives go goes going gone got had has have hear heard held hold holds keep keeps kept knew know known led
    learnt leave left lent look looks lost made make makes mean means meant met move offer paid put quiesce ran reach
    read refuse run said saw say says seek seen send sent set shaken shown shut sit speak spent stand stood stick swept
    take taken takes tell told took tried undone use uses wake want was went woken would written wrote answers carries
    differs eject emit expect fail follow operate receive replicate rewrite serve wait waits watch compress fold";

/// Words with the form of participles or verbs that are used as nouns: result set, test run, message framing, content
/// coding (RFC 9110).
const NOUNS: &str = "
    string ring king thing wing spring listing setting heading timing routing binding mapping encoding reading feed seed
    speed need bed padding warning finding header greeting building meeting drawing rating spelling wiring bearing
    scheduling balancing limiting monitoring tracing logging sampling pacing ping set run use uses coding framing grouping
    parsing rewrite mean means meaning ending opening watch wait offer answers";

/// Whether the last word of a name is a noun, judging by its form.
pub fn is_noun(words: &[String]) -> bool {
    let Some(last) = words.last().map(|word| word.to_lowercase()) else { return false };
    let listed = |list: &str| list.split_whitespace().any(|word| word == last);
    if listed(NOUNS) {
        return true;
    }
    let participle = last.len() > 3 && (last.ends_with("ed") || last.ends_with("ing"));
    !participle && !listed(NOT_NOUNS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::types::words;

    #[test]
    fn participles_and_words_of_grammar_are_no_nouns() {
        for (name, noun) in [
            ("HealthChecker", true),
            ("String", true),
            ("RateLimiting", true),
            ("Told", false),
            ("Refused", false),
            ("HalfOpened", false),
            ("Beside", false),
            ("Sending", false),
        ] {
            assert_eq!(is_noun(&words(name)), noun, "{name}");
        }
    }
}
