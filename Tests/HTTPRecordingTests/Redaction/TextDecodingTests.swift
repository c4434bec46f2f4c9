import Testing

@testable import HTTPRecording

@Suite struct TextDecodingTests {
    @Test(
        "Encodings are taken off, also inside one another",
        arguments: [
            ("&lt;a%3D\\u0022", "<a=\""), ("a%253Db", "a=b"), ("%26lt%3B", "<"), ("\\u005cu0022", "\""), ("a\\/b\\\\\\/c", "a/b/c"),
            (#"{\"a\":\"b\\\"c\"}"#, #"{"a":"b"c"}"#),
            ("%2525253D", "%3D"),
            ("\\u00e9 \\u12 \\u00 100% &x; %zz \\u00+1", "\\u00e9 \\u12 \\u00 100% &x; %zz \\u00+1"), ("", ""),
        ])
    func decoded(text: String, result: String) { #expect(TextDecoding.stages(of: Array(text.utf8)).last == Array(result.utf8)) }
}
