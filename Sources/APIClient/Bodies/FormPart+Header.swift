import ApproovBase
import Foundation
import HTTPTypes

extension FormPart {
    /// The header section of the part, with the empty line that ends it.
    ///
    /// - Throws: ``APIError`` with code `invalidHeader` when the media type or a further header is malformed.
    func header() throws -> [UInt8] {
        var text = Array("Content-Disposition: form-data; name=\"".utf8) + Self.escaped(nameBytes)
        if let filename = shownFilename { text += Array("\"; filename=\"".utf8) + Self.escaped(filename) }
        text += "\"\r\n".utf8
        if let type = mediaType {
            guard Self.isMediaType(type) else {
                throw APIError(
                    .invalidHeader, "the part \(LoggableText.name(name)) has a malformed media type; give one such as image/png")
            }
            text += "Content-Type: \(type)\r\n".utf8
        }
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            guard HTTPField.Name(name) != nil, HTTPField.isValidValue(value),
                !["content-disposition", "content-type"].contains(name.lowercased())
            else {
                throw APIError(
                    .invalidHeader,
                    "the header \(LoggableText.name(name)) of the part \(LoggableText.name(self.name)) is malformed, "
                        + "or is one that the part writes itself")
            }
            text += "\(name): \(value)\r\n".utf8
        }
        return text + "\r\n".utf8
    }

    private var shownFilename: [UInt8]? {
        if case .file(let path, _) = content, filenameBytes == nil { return Array(URL(filePath: path).lastPathComponent.utf8) }
        return filenameBytes
    }

    private var mediaType: String? {
        switch content {
        case .text: nil
        case .data(_, let type), .file(_, let type): type
        }
    }

    /// A name within quotation marks.
    ///
    /// Quotation marks and line ends are percent-encoded, as browsers do (HTML Standard, multipart/form-data encoding algorithm). So are
    /// backslashes, which browsers send as they are: parsers read one before the closing quotation mark in different ways, even doubled,
    /// and a name could then add parameters.
    private static func escaped(_ name: [UInt8]) -> [UInt8] {
        PercentEncoding.encoded(name) { !"\"\r\n\\".utf8.contains($0) }
    }

    private static func isMediaType(_ text: String) -> Bool {
        let type = text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).split(separator: "/", omittingEmptySubsequences: false)
        return HTTPField.isValidValue(text) && type.count == 2 && type.allSatisfy { HTTPField.Name(String($0)) != nil }
    }
}
