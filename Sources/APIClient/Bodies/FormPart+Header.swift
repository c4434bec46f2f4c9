import ApproovBase
import Foundation
import HTTPTypes

extension FormPart {
    /// The header section of the part, with the empty line that ends it.
    ///
    /// - Throws: ``APIError`` with code `invalidHeader` when the media type or a further header is malformed.
    func header() throws -> [UInt8] {
        var text = "Content-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let filename = shownFilename { text += "; filename=\"\(Self.escaped(filename))\"" }
        text += "\r\n"
        if let type = mediaType {
            guard Self.isMediaType(type) else {
                throw APIError(
                    .invalidHeader, "the part \(LoggableText.name(name)) has a malformed media type; give one such as image/png")
            }
            text += "Content-Type: \(type)\r\n"
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
            text += "\(name): \(value)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }

    private var shownFilename: String? {
        if case .file(let path, _) = content, filename == nil { return URL(filePath: path).lastPathComponent }
        return filename
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
    private static func escaped(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"": text += "%22"
            case "\r": text += "%0D"
            case "\n": text += "%0A"
            case "\\": text += "%5C"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isMediaType(_ text: String) -> Bool {
        let type = text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).split(separator: "/", omittingEmptySubsequences: false)
        return HTTPField.isValidValue(text) && type.count == 2 && type.allSatisfy { HTTPField.Name(String($0)) != nil }
    }
}
