package keys

var Checksum = checksum
