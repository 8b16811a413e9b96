//! The characters of a file with their lines, and scripts of Lua, which have a grammar of their own.

/// Reads a text character by character, one ahead.
pub struct CharacterReader {
    chars: std::vec::IntoIter<char>,
    peeked: Option<char>,
    /// The line of the next character.
    pub line: u32,
}

impl CharacterReader {
    /// Reads a text whose first line has this number.
    pub fn new(text: String, line: u32) -> CharacterReader {
        let chars = text.chars().collect::<Vec<_>>().into_iter();
        CharacterReader { chars, peeked: None, line }
    }

    pub fn next(&mut self) -> Option<char> {
        let c = self.peeked.take().or_else(|| self.chars.next());
        if c == Some('\n') {
            self.line += 1;
        }
        c
    }

    pub fn peek(&mut self) -> Option<char> {
        if self.peeked.is_none() {
            self.peeked = self.chars.next();
        }
        self.peeked
    }
}

/// Where a script of Lua stands.
enum LuaPlace {
    Code,
    Comment,
    /// A string that ends with this quote.
    Quoted(char),
    /// A string or a comment that ends with `]`, so many `=`, and `]`.
    Long(usize),
}

impl CharacterReader {
    /// Skips to the end of a block of Lua, in whose strings and comments braces and quotes mean nothing.
    pub fn skip_lua(&mut self) {
        let mut depth = 1;
        let mut place = LuaPlace::Code;
        while let Some(c) = self.next() {
            place = match (place, c) {
                (LuaPlace::Comment, '\n') => LuaPlace::Code,
                (LuaPlace::Quoted(quote), c) if c == quote || c == '\n' => LuaPlace::Code,
                (LuaPlace::Quoted(quote), '\\') => {
                    self.next();
                    LuaPlace::Quoted(quote)
                }
                (LuaPlace::Long(level), ']') if self.long_bracket(']') == Some(level) => {
                    LuaPlace::Code
                }
                (LuaPlace::Code, '-') if self.peek() == Some('-') => {
                    self.next();
                    let is_long = self.peek() == Some('[') && self.next().is_some();
                    let level = if is_long { self.long_bracket('[') } else { None };
                    level.map_or(LuaPlace::Comment, LuaPlace::Long)
                }
                (LuaPlace::Code, '[') => {
                    self.long_bracket('[').map_or(LuaPlace::Code, LuaPlace::Long)
                }
                (LuaPlace::Code, '"' | '\'') => LuaPlace::Quoted(c),
                (LuaPlace::Code, '{') => {
                    depth += 1;
                    LuaPlace::Code
                }
                (LuaPlace::Code, '}') => {
                    depth -= 1;
                    if depth == 0 {
                        return;
                    }
                    LuaPlace::Code
                }
                (place, _) => place,
            };
        }
    }

    /// The `=` of a long bracket whose first character is read; `None`: it is another text.
    fn long_bracket(&mut self, bracket: char) -> Option<usize> {
        let mut level = 0;
        while self.peek() == Some('=') {
            self.next();
            level += 1;
        }
        let is_long = self.peek() == Some(bracket);
        // A closing bracket may begin the end of a longer text that goes on, as in `]]]`.
        if is_long && bracket == '[' {
            self.next();
        }
        is_long.then_some(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_and_quotes_of_scripts_mean_nothing() {
        for script in [
            "",
            " t = {} ",
            " -- don't }\n ",
            " s = '}' .. \"it's }\" .. '\\'}' ",
            " s = [=[ } ]] ' ]=] ",
            " --[[ '\n }]] t[a[1]] = {} ",
            " --[==[ } ]=] ]==] --[ }\n ",
        ] {
            let mut reader = CharacterReader::new(format!("{script}}}x"), 1);
            reader.skip_lua();
            assert_eq!(reader.next(), Some('x'), "{script}");
        }
    }
}
