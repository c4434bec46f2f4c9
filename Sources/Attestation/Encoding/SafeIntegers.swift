/// The range of counters and times: positive, and exact in every JSON implementation (RFC 8259, section 6).
package let positiveSafeIntegers: ClosedRange<Int64> = 1...(1 << 53 - 1)
