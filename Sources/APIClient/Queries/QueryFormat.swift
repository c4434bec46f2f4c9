/// How parameters become a query, or the content of a form.
///
/// Names and values are percent-encoded as UTF-8 (RFC 3986, section 2.1). Letters, digits and `-._~` are never encoded; `!*'():@$,/?` only
/// if ``encodingAlso`` contains them; all other characters always. An empty array or dictionary is left out.
public struct QueryFormat: Sendable, Hashable {
    /// How the elements of an array are written.
    public enum Arrays: Sendable, Hashable {
        /// `a[0]=x&a[1]=y`; the only form for arrays within arrays.
        case indexed
        /// `a[]=x&a[]=y`; elements that are dictionaries become `a[][b]=x`, which servers read as a new element when a name repeats.
        case bracketed
        /// `a=x&a=y`; the elements must be single values.
        case duplicatedKeys
        /// `a=x,y`; the elements must be single values. A comma in a value is percent-encoded: the server must split before it decodes.
        case commaSeparated
    }

    /// How the names of a dictionary within the parameters are written.
    public enum Dictionaries: Sendable, Hashable {
        /// `a[b]=x`
        case subscripted
        /// `a.b=x`; the names must not contain a dot.
        case dotNotated
    }

    /// What becomes of a plus sign.
    public enum Plus: Sendable, Hashable {
        /// `%2B`, which every server reads as a plus sign.
        case percentEncoded
        /// `+`, which servers read as a plus sign or as a space.
        case literal
        /// `%20`: the plus sign is replaced by a space.
        case percentEncodedSpace
    }

    /// What becomes of a space.
    public enum Space: Sendable, Hashable {
        /// `%20`
        case percentEncoded
        /// `+`, as in forms.
        case plus
    }

    /// How the elements of an array are written; `.indexed` by default.
    public var arrays: Arrays
    /// How names within names are written; `.subscripted` by default.
    public var dictionaries: Dictionaries
    /// What becomes of a plus sign; `%2B` by default.
    public var plus: Plus
    /// What becomes of a space; `%20` by default.
    public var space: Space
    /// Reserved characters to percent-encode as well, of `!*'():@$,/?`; none by default.
    public var encodingAlso: Set<Character>

    /// Makes a format.
    ///
    /// - Parameters:
    ///   - arrays: How the elements of an array are written.
    ///   - dictionaries: How names within names are written.
    ///   - plus: What becomes of a plus sign.
    ///   - space: What becomes of a space.
    ///   - encodingAlso: Reserved characters to percent-encode as well, of `!*'():@$,/?`; others change nothing.
    public init(
        arrays: Arrays = .indexed, dictionaries: Dictionaries = .subscripted, plus: Plus = .percentEncoded,
        space: Space = .percentEncoded, encodingAlso: Set<Character> = []
    ) {
        self.arrays = arrays
        self.dictionaries = dictionaries
        self.plus = plus
        self.space = space
        self.encodingAlso = encodingAlso
    }

    /// The format of HTML forms: a space is written as `+`, and a repeated name makes a list.
    public static let form = QueryFormat(arrays: .duplicatedKeys, space: .plus, encodingAlso: Set("!'():@$,/?"))
}
