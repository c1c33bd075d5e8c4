-- Has wrk send the requests of its standard input, in turn. Each is a line "METHOD PATH BODY".
local requests, last = {}, 0

function init()
	for line in io.lines() do
		local method, path, body = line:match("(%S+) (%S+) ?(.*)")
		requests[#requests + 1] = wrk.format(method, path, nil, body ~= "" and body or nil)
	end
end

function request()
	last = last % #requests + 1
	return requests[last]
end

function done(summary)
	local e = summary.errors
	print("summary:", summary.requests, e.connect + e.read + e.write + e.timeout + e.status)
end
