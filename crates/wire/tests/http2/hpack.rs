//! Header compression: the examples of RFC 7541 Appendix C, limits, invalid blocks, and any fields there and back.

use proptest::prelude::*;
use wire::field_section::FieldSection;
use wire::http2::hpack::{DecodedSize, HpackDecoder, HpackEncoder, HpackError};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// The fields as lines.
fn decode(decoder: &mut HpackDecoder, block: &[u8]) -> Result<Vec<String>, HpackError> {
    let mut fields = FieldSection::default();
    assert_eq!(decoder.decode(block, 100_000, &mut fields)?, DecodedSize::Allowed);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ok(fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect())
}

#[test]
fn single_fields_of_the_rfc_are_decoded() {
    for (block, line) in [
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key: custom-header",
        ),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path"),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret"),
        ("82", ":method: GET"),
    ] {
        assert_eq!(decode(&mut HpackDecoder::new(4_096), &bytes(block)), Ok(vec![line.to_owned()]));
    }
}

#[test]
fn requests_of_the_rfc_are_decoded() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let coded = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    let requests = [
        ":method: GET|:scheme: http|:path: /|:authority: www.example.com",
        ":method: GET|:scheme: http|:path: /|:authority: www.example.com|cache-control: no-cache",
        ":method: GET|:scheme: https|:path: /index.html|:authority: www.example.com|custom-key: custom-value",
    ];
    for blocks in [plain, coded] {
        let mut decoder = HpackDecoder::new(4_096);
        for (block, request) in blocks.iter().zip(requests) {
            assert_eq!(decode(&mut decoder, &bytes(block)).unwrap().join("|"), request);
        }
    }
}

#[test]
fn responses_of_the_rfc_evict_entries() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120
         474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738
         666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33
         3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let coded = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718
         63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7
         b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    let date = "date: Mon, 21 Oct 2013 20:13:21 GMT";
    let rest = "location: https://www.example.com";
    let responses = [
        format!(":status: 302|cache-control: private|{date}|{rest}"),
        format!(":status: 307|cache-control: private|{date}|{rest}"),
        format!(
            ":status: 200|cache-control: private|date: Mon, 21 Oct 2013 20:13:22 GMT|{rest}|content-encoding: gzip|\
             set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
        ),
    ];
    for blocks in [plain, coded] {
        let mut decoder = HpackDecoder::new(256);
        for (block, response) in blocks.iter().zip(&responses) {
            assert_eq!(&decode(&mut decoder, &bytes(block)).unwrap().join("|"), response);
        }
    }
}

#[test]
fn invalid_blocks_have_their_reason() {
    use HpackError::{Huffman, IntegerTooLarge, SizeUpdate, Truncated, UnknownIndex};
    for (block, wanted) in [
        ("80", UnknownIndex),
        ("be", UnknownIndex),
        ("ff 00", UnknownIndex),
        ("7f 80 80 80 7f", UnknownIndex),
        ("ff ff ff ff ff 7f", IntegerTooLarge),
        ("ff", Truncated),
        ("40", Truncated),
        ("40 01 61", Truncated),
        ("40 01 61 02 62", Truncated),
        ("40 81 00 00", Huffman),
        ("40 81 ff 00", Huffman),
        ("40 84 ff ff ff ff 00", Huffman),
        ("3f e2 1f", SizeUpdate),
        ("82 20", SizeUpdate),
    ] {
        assert_eq!(decode(&mut HpackDecoder::new(4_096), &bytes(block)), Err(wanted), "{block}");
    }
    let sizes = bytes("20 3f e1 1f 82");
    assert_eq!(decode(&mut HpackDecoder::new(4_096), &sizes).unwrap(), [":method: GET"]);
}

#[test]
fn a_section_above_the_limit_still_updates_the_table() {
    let mut decoder = HpackDecoder::new(4_096);
    let block = [&[0x82; 50][..], &bytes("4001 6101 62"), &[0xbe; 10_000]].concat();
    let mut fields = FieldSection::default();
    let size = decoder.decode(&block, 500, &mut fields);
    assert_eq!(size, Ok(DecodedSize::TooLarge));
    assert_eq!(fields.len(), 11, "eleven fields of 42 bytes are within 500");
    assert_eq!(decode(&mut decoder, &[0xbe]).unwrap(), ["a: b"]);
    let mut exact = FieldSection::default();
    assert_eq!(decoder.decode(&[0xbe, 0xbe], 68, &mut exact), Ok(DecodedSize::Allowed));
    assert_eq!(decoder.decode(&[0xbe, 0xbe], 67, &mut exact), Ok(DecodedSize::TooLarge));
}

fn encode(encoder: &mut HpackEncoder, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = FieldSection::default();
    fields.iter().for_each(|(name, value)| section.push(name.as_bytes(), value.as_bytes()));
    let mut out = Vec::new();
    encoder.encode(&section, &mut out);
    out
}

#[test]
fn a_field_enters_the_table_when_it_is_repeated() {
    let mut encoder = HpackEncoder::default();
    let fields = [("x-own", "a value"), ("server", "own")];
    let sizes: Vec<usize> = (0..3).map(|_| encode(&mut encoder, &fields).len()).collect();
    assert!(sizes[1] >= sizes[0] - 1 && sizes[2] == 2, "{sizes:?}");
    // A name whose values never repeat enters once, and from then on only values are sent.
    let ids: Vec<usize> = (100..104)
        .map(|id| encode(&mut encoder, &[("x-request-id", &id.to_string())]).len())
        .collect();
    assert!(ids[2] < ids[0] && ids[2] == ids[3], "{ids:?}");
}

#[test]
fn secrets_are_never_indexed() {
    let long = "a-cookie-that-is-too-long-to-be-guessed";
    for (name, value, secret) in [
        ("authorization", long, true),
        ("proxy-authorization", "x", true),
        ("cookie", "id=1", true),
        ("set-cookie", "id=1", true),
        ("cookie", long, false),
        ("x-own", "id=1", false),
    ] {
        let mut encoder = HpackEncoder::default();
        let blocks: Vec<Vec<u8>> = (0..3).map(|_| encode(&mut encoder, &[(name, value)])).collect();
        let never = blocks.iter().all(|block| block[0] & 0xf0 == 0x10);
        assert_eq!(never, secret, "{name}: {value}");
        assert_eq!(blocks[2].len() == 1, !secret, "{name}: {value}");
    }
}

#[test]
fn changes_of_the_table_size_are_announced() {
    let mut encoder = HpackEncoder::default();
    (0..3).for_each(|_| assert!(!encode(&mut encoder, &[("x-own", "a")]).is_empty()));
    encoder.set_table_size(0);
    encoder.set_table_size(100);
    let block = encode(&mut encoder, &[(":method", "GET")]);
    assert_eq!(block, [0x20, 0x3f, 100 - 31, 0x82]);
    encoder.set_table_size(1 << 30);
    assert_eq!(encode(&mut encoder, &[(":method", "GET")]), [0x3f, 0xe1, 0x1f, 0x82]);
    assert_eq!(encode(&mut encoder, &[(":method", "GET")]), [0x82]);
}

/// A field of few names and values, so that tables are used, or of any bytes.
fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let any = |most| proptest::collection::vec(any::<u8>(), 0..most);
    let few = ("[a-d]{1,2}", "[x-z]{0,3}").prop_map(|(a, b)| (a.into_bytes(), b.into_bytes()));
    let known = prop::sample::select(vec![":status", ":path", "cookie", "authorization", "date"]);
    let named = (known, any(40)).prop_map(|(name, value)| (name.as_bytes().to_vec(), value));
    prop_oneof![4 => few, 2 => named, 1 => (any(40), any(300))]
}

proptest! {
    #[test]
    fn any_fields_come_back(
        sections in proptest::collection::vec(proptest::collection::vec(field(), 0..20), 1..20),
        sizes in proptest::collection::vec(proptest::option::of(0usize..5_000), 20),
    ) {
        let mut encoder = HpackEncoder::default();
        let mut decoder = HpackDecoder::new(4_096);
        for (section, size) in sections.iter().zip(sizes) {
            if let Some(size) = size {
                encoder.set_table_size(size);
            }
            let mut fields = FieldSection::default();
            section.iter().for_each(|(name, value)| fields.push(name, value));
            let mut block = Vec::new();
            encoder.encode(&fields, &mut block);
            let mut back = FieldSection::default();
            prop_assert_eq!(decoder.decode(&block, 1 << 20, &mut back), Ok(DecodedSize::Allowed));
            prop_assert_eq!(back, fields);
        }
    }

    #[test]
    fn any_block_is_decoded_or_refused(blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 1..10)) {
        let mut decoder = HpackDecoder::new(300);
        for block in blocks {
            let mut fields = FieldSection::default();
            let decoded = decoder.decode(&block, 1_000, &mut fields);
            let size: usize = fields.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
            prop_assert!(size <= 1_000);
            prop_assert!(decoded.is_err() || block.len() < 1_000);
        }
    }
}
