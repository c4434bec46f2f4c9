internal import ApproovBase
internal import Foundation

extension Certificate {
    /// The size limit of one file, in bytes.
    private static let maximumFileSize = 4 << 20
    /// The largest number of files that are read from one folder.
    private static let maximumFileCount = 1_000
    private static let fileExtensions = ["pem", "crt", "cer", "der"]

    /// Reads the certificates of a file, or of a folder's `.pem`, `.crt`, `.cer` and `.der` files in the order of their names.
    ///
    /// Subfolders are not read.
    /// - Parameter path: The path of a file or a folder.
    /// - Returns: At least one certificate.
    /// - Throws: ``PinningError`` with code `unreadableFile`; `malformedCertificate`, naming the file; or `noCertificates` for a folder
    ///   without any.
    public static func all(at path: String) throws -> [Certificate] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            return try all(inFile: path)
        }
        return try files(inFolder: path).flatMap { try all(inFile: $0) }
    }

    /// Parses bytes that hold PEM certificates and nothing else, or one certificate in DER.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: At least one certificate.
    /// - Throws: ``PinningError`` with code `malformedCertificate`, including for PEM blocks that are not certificates and for text after
    ///   the last one.
    public static func all(in bytes: [UInt8]) throws -> [Certificate] {
        guard PEMText.isPEM(bytes) else { return [try Certificate(der: bytes)] }
        return try PEM.blocks(bytes, onFailure: .malformedCertificate).map { block in
            guard isCertificate(block) else {
                throw PinningError(
                    .malformedCertificate,
                    "the certificate file contains a PEM block \"\(LoggableText.quoted(block.label))\"; keep that block in another file")
            }
            return try Certificate(der: block.bytes)
        }
    }

    private static func all(inFile path: String) throws -> [Certificate] {
        let bytes = try BoundedFile.read(path, limit: maximumFileSize)
        do {
            return try all(in: bytes)
        } catch let error as PinningError {
            throw PinningError(error.code, "\"\(LoggableText.quoted(path, limit: 1_024))\": \(error.message)")
        }
    }

    private static func files(inFolder path: String) throws -> [String] {
        let quoted = "\"\(LoggableText.quoted(path, limit: 1_024))\""
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw PinningError(.unreadableFile, "the folder \(quoted) cannot be read", cause: error)
        }
        let files = names.filter { name in
            !name.hasPrefix(".") && fileExtensions.contains { name.lowercased().hasSuffix("." + $0) }
        }
        guard !files.isEmpty else {
            throw PinningError(
                .noCertificates, "the folder \(quoted) contains no certificate; put .pem, .crt, .cer or .der files there")
        }
        guard files.count <= maximumFileCount else {
            throw PinningError(
                .unreadableFile,
                "the folder \(quoted) contains more than \(maximumFileCount) certificate files; remove those that you do not pin")
        }
        return files.sorted().map { path + "/" + $0 }
    }
}
