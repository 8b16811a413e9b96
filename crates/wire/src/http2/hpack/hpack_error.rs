//! The ways in which a block can be invalid.

/// Why a block cannot be decoded. The tables of both sides differ from then on, so the connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    #[error("a block ends within a field")]
    Truncated,
    #[error("an index that no table has")]
    UnknownIndex,
    #[error("an integer is too large")]
    IntegerTooLarge,
    #[error("invalid Huffman code")]
    Huffman,
    #[error("a size update that is too large or not at the start of a block")]
    SizeUpdate,
}
