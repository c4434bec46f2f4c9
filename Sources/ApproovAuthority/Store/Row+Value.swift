internal import Attestation
internal import GRDB

extension Row {
    /// Reads a column.
    ///
    /// A column may hold a value of another type than its declaration says, for example after a change by hand. GRDB's subscript would end
    /// the process then, and print the row with its secrets.
    /// - Parameter column: The column's name.
    /// - Returns: The value.
    /// - Throws: ``AuthorityError`` with code `storeDamaged` when the column holds a value of another type.
    func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        do {
            return try decode(Value.self, forColumn: column)
        } catch {
            // Without the cause, which contains the row.
            throw AuthorityError(
                .storeDamaged,
                "a row of the store has a value of the wrong type in its column \(column); correct it, or restore the store from a backup")
        }
    }

    /// Reads a counter or a time, which is 1 to 2^53 - 1, so that a sum or a difference of two of them cannot overflow.
    /// - Parameter column: The column's name.
    /// - Returns: The value.
    /// - Throws: ``AuthorityError`` with code `storeDamaged` when the column holds a value of another type or out of this range.
    func safeInteger(_ column: String) throws -> Int64 {
        let number: Int64 = try value(column)
        guard positiveSafeIntegers.contains(number) else {
            throw AuthorityError(
                .storeDamaged, "a row of the store has a number out of range in its column \(column); restore the store from a backup")
        }
        return number
    }
}
