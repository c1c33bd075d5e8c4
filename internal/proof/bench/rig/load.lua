-- The load's requests and `once` stand in lines before this one. wrk runs the file
-- in its one thread, and asks it for the first request once without sending it.
local turn, sent = 0, 0

function request()
	turn = turn % #requests + 1
	return requests[turn]
end

if once then
	-- wrk cannot end before its time, but a connection may wait before it sends.
	-- So each request is sent once, and then all connections wait for the end.
	function delay()
		sent = sent + 1
		return sent > #requests and 3600000 or 0
	end
end

function done(summary, latency)
	local e = summary.errors
	print(string.format(
		'{"requests":%d,"received":%d,"micros":%d,"p99_micros":%d,"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}}',
		summary.requests, summary.bytes, summary.duration, latency:percentile(99), e.connect, e.read, e.write, e.status, e.timeout))
end
