public import Foundation

extension XMLElement {
    /// The most bytes of a document, 16 MiB.
    public static let maximumBytes = 16 << 20
    /// How deep elements may be nested.
    public static let maximumDepth = 128
    /// The most elements, attributes and texts of a document.
    public static let maximumNodes = 1 << 20

    /// Reads a document (XML 1.0), and returns its root element.
    ///
    /// The parser loads nothing, and expands only the five entities that XML itself has.
    ///
    /// - Parameter data: The whole document, in UTF-8 or UTF-16.
    /// - Throws: ``APIError`` with code `malformedXML`, which names line and column, when the document is not well-formed, is in another
    ///   encoding, or has a document type declaration; with code `tooLarge` when it has more than 16 MiB or 1,048,576 nodes, or is nested
    ///   deeper than 128 levels.
    public init(parsing data: Data) throws {
        self = try XMLReader.read([UInt8](data))
    }

    /// Reads a document from text.
    ///
    /// - Parameter text: The whole document.
    /// - Throws: ``APIError`` with code `malformedXML` or `tooLarge`, as for ``init(parsing:)-(Data)``.
    public init(parsing text: String) throws {
        self = try XMLReader.read(Array(text.utf8))
    }
}
