/// What a recording keeps, and what it replaces by `REDACTED`, so that it can be committed.
///
/// The rules name what is kept, not what is secret. A header with an unknown name, such as one that carries a substituted secret, is
/// therefore redacted.
///
/// - **Header fields**: the values of ``keptFields`` stay, without tokens and keys. `Server`, `User-Agent`, challenges such as
///   `WWW-Authenticate`, and most fields that you add also lose the secrets that the exchange has elsewhere. `Location`,
///   `Content-Location`, and `Link` in a response, keep the paths of their URLs, as described below. Other fields become `REDACTED-` and
///   six hexadecimal digits. Within one ``RecordingTransport`` equal values have equal digits, which reveal nothing about the value.
/// - **Paths**: a segment becomes `REDACTED` if ``maskedPaths`` says so, or if a JSON Web Token, a private key or a URL with a password is
///   in it, also with percent-encoding. Other segments stay.
/// - **Queries**: the values of ``keptQueryNames`` stay. Others become `REDACTED-` and the first six hexadecimal digits of their SHA-256,
///   so that a replay can tell requests apart. A value that is easy to guess can be found again by trying; if the name is secret, the value
///   therefore becomes `REDACTED` alone. A parameter without a value, such as `?x` or `?x=`, is a value without a name.
/// - **Bodies**: JSON, lines of JSON, forms and XML (and so SOAP) lose the values whose name is secret. Other text, except HTML and
///   Markdown, loses the rest of a line after a secret name and `=` or `:`. It also loses users' names in URLs that have a password, or
///   that may be keys: with a letter and a digit in eight bytes or more. Every body loses JSON Web Tokens and private keys in PEM.
/// - **Labels**: `name` or `key` names the value beside it, as in `{"name":"password","value":"x"}` and `<param name="password">`. If
///   the label is the name of a secret, everything beside it is secret. If it only contains such a name, as `Client Secret` does, only the
///   value called `value` or similarly is secret. In XML a label announces only the values after it. In JSON `type`, `id`, `field`,
///   `header` and the last part of `path` announce the member `value`, as in `{"path":"/password","value":"x"}`.
/// - **Values with more in them**: a value of JSON, a form or XML that contains a query, a setting or another document is replaced as a
///   whole if a secret's name is in it, and so is one that contains a URL with a password, or with a user's name that may be a key. In
///   JSON and forms the name must be before `=` or `:`, or alone in quotation marks or in a tag.
/// - **JSON and XML**: all values below a secret member or element are secret.
/// - **JSON Web Keys**: in an object of JSON with a member `kty`, `d`, `p`, `q`, `dp`, `dq`, `qi`, `k` and `oth` are secret.
/// - **JSON**: names of 16 bytes or more with a letter and two digits, below a secret member, may be keys themselves, as in
///   `{"sessions":{"f81d4fae7dec11d0":1}}`. They become `REDACTED-` and a number, unless ``keptNames`` has them. So does a name in which a
///   secret is that was found elsewhere. Other names stay.
/// - **XML**: the names are those of elements and attributes, without their prefixes. Comments and processing instructions lose their
///   text. Only UTF-8 without an internal document type declaration can be read, and at most 1,000 levels.
///
/// A name is secret if it contains a long word such as `password`, equals a short word such as `key`, has a short word such as `pin` as its
/// last part, or is listed in ``secretNames``. Parts end at other characters than letters and before capitals, as in `user_pin` and
/// `userPin`. In forms and queries each part in brackets is a name too, as in `user[key]`. Otherwise only letters and digits count. Case
/// does not. Names that end with "type", "endpoint", "expires_in" and the like, as `token_type` does, and ``keptNames`` are not secret.
///
/// Secrets are also **looked for elsewhere** in the bodies of the exchange, if they have eight bytes or more:
///
/// - the values of secret names and of labels, unless they are words of less than 16 letters or are deep within a secret object or element,
/// - what follows the scheme in `Authorization`, values of secret header fields and query parameters, and masked segments, unless they are
///   JSON objects or arrays,
/// - passwords in URLs and in `Basic` credentials, and the user's name in `Basic` credentials with an empty password, unless they are words
///   of less than 16 letters, or JSON objects or arrays,
/// - the values of settings in text,
/// - users' names that have a letter and a digit, in `Basic` credentials and in URLs, and named values of the fragments of the head's URLs,
/// - cookies, unless they are words of less than 16 letters, or JSON objects or arrays,
/// - other redacted values of the head that have a letter and a digit and are neither URLs, nor dates with a time, nor JSON objects or
///   arrays.
///
/// They are also found with the escapes of JSON, the references of XML, percent-encoding, and `+` for a blank; the whole string, text or
/// value is then replaced, and in other text all that stands between blanks, quotation marks, `<` and `>`. So is a string of JSON that has
/// `\u0000` or half of a character. They are not looked for in the names, namespaces and declarations of XML. A secret of more than 512
/// bytes that has a character beyond ASCII is not looked for.
///
/// A request's body that is a stream, a file or larger than 16 MiB is not searched for secrets, nor is one that is compressed or has
/// several parts.
///
/// **Refused** are the bodies of responses that look like JSON or XML, or have such a type, and cannot be read, and those that are
/// compressed, have several parts (`multipart/*`), or are YAML or TOML by their type: the request fails. A request with such a body is
/// recorded without a hash of it.
///
/// Personal data without such a name stays. So do secrets without a name in plain text, such as a response that is a code and nothing else,
/// and secrets in HTML and other formats, in another encoding, and most of those in paths without a pattern: read a recording before you
/// publish it.
public struct RecordingRedaction: Sendable, Hashable {
    /// What happens to bodies.
    public enum Bodies: Sendable, Hashable {
        /// Secrets are redacted, as described above.
        case redact
        /// Bodies are recorded as they are: do not publish such a recording.
        case keep
    }

    /// The default rules.
    public static var standard: RecordingRedaction { RecordingRedaction() }

    /// The names of header fields whose values are kept, except for secrets that are found in them; letter case does not count.
    ///
    /// Credentials are redacted even if they are named here: Authorization, Proxy-Authorization, Cookie, Set-Cookie, Signature and
    /// Signature-Input. Location and Content-Location lose the secrets in their URLs, and are redacted if they are not named here.
    public var keptFields: Set<String> = [
        "Accept", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Age", "Allow", "Cache-Control", "Content-Disposition",
        "Content-Encoding", "Content-Language", "Content-Length", "Content-Location", "Content-Range", "Content-Type", "Date", "ETag",
        "Expires", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since", "Last-Modified", "Location",
        "Range", "Retry-After", "Server", "User-Agent", "Vary", "WWW-Authenticate",
    ]
    /// The names of query parameters whose values are kept; letter case counts.
    ///
    /// A value with a token, with `;`, `?` or `&`, or with `=` before its end may hide another parameter, and is redacted all the same.
    /// So is a value that has these characters percent-encoded.
    public var keptQueryNames: Set<String> = ["count", "limit", "offset", "order", "page", "per_page", "sort"]
    /// Further names of secret values in queries and bodies; empty by default.
    public var secretNames: Set<String> = []
    /// Names of values in bodies that are not secret, although a rule says so, such as `prompt_tokens` or `key`; empty by default.
    ///
    /// Letter case counts as little as in ``secretNames``. The names of queries and header fields are in ``keptQueryNames`` and
    /// ``keptFields``.
    public var keptNames: Set<String> = []
    /// Paths with secret segments, such as `/reset/*`: each `*` is one segment, which becomes `REDACTED`; empty by default.
    ///
    /// `/files/**` stands for all segments that follow. Other segments after those of the pattern are kept. Segments are compared decoded.
    /// The initializers of ``RecordingTransport`` and ``ReplayTransport`` throw `recordingFailed` for any other rule.
    public var maskedPaths: [String] = []
    /// What happens to bodies; redacted by default.
    public var bodies = Bodies.redact

    /// Makes the default rules.
    public init() {}
}
