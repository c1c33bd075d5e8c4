-- wrk runs this in its only thread: wrk … -s load.lua URL -- OPERATION PETS KEY SEED.
-- Requests are random, except those of the operation "same".
local threads = {}
local head, pets
local statuses = {"available", "pending", "sold"}
counts, bytes = {}, 0

function setup(thread) threads[#threads + 1] = thread end

function init(args)
	pets = tonumber(args[2])
	head = " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port .. "\r\nAuthorization: Bearer " .. args[3] .. "\r\n"
	math.randomseed(tonumber(args[4]))
	request = operations[args[1]]
end

local function get(path) return "GET /v1/pets" .. path .. head .. "\r\n" end

-- Leaves out the last pets, so that most pages are full.
local function after() return math.random(0, pets - 100) end

operations = {
	list = function() return get("?limit=20&after=" .. after()) end,
	filtered = function() return get("?limit=20&status=" .. statuses[math.random(3)] .. "&after=" .. after()) end,
	same = function() return get("?limit=20") end,
	get = function() return get("/" .. math.random(pets)) end,
	create = function()
		local name = {}
		for i = 1, math.random(3, 10) do name[i] = string.char(math.random(97, 122)) end
		local body = string.format('{"name":"%s","categoryId":%d,"status":"%s"}', table.concat(name), math.random(5), statuses[math.random(3)])
		return "POST /v1/pets" .. head .. "Content-Type: application/json\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
	end,
}

function response(status, headers, body)
	counts[status] = (counts[status] or 0) + 1
	bytes = bytes + #body
end

function done(summary)
	local statuses = {}
	for status, n in pairs(threads[1]:get("counts")) do statuses[#statuses + 1] = string.format('"%d":%d', status, n) end
	local e = summary.errors
	print(string.format('{"requests":%d,"errors":%d,"bytes":%d,"statuses":{%s}}',
		summary.requests, e.connect + e.read + e.write + e.timeout, threads[1]:get("bytes"), table.concat(statuses, ",")))
end
