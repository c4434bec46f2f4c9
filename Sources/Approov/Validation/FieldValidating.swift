import Foundation
import HTTPTypes

/// A validator that needs only single header fields of the head.
///
/// The validator reads the fields as they came, because Foundation would compare the name with every field's name in lower case.
protocol FieldValidating: ResponseValidating {
    /// Does the same as ``ResponseValidating/validate(_:body:)``.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - body: The body, if it is in memory.
    ///   - value: Returns the value of a field, with its lines joined by a comma and a space; nil if there is none.
    /// - Throws: What ``ResponseValidating/validate(_:body:)`` throws.
    func validate(status: Int, body: Data?, value: (HTTPField.Name) -> String?) throws
}
