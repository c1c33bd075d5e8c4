package main

import (
	"context"
	"slices"
	"sync"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/edge/example/api"
)

var _ api.StrictServerInterface = (*boards)(nil)

// boards keeps the tasks of all boards in memory. It is safe for concurrent use.
type boards struct {
	mu     sync.Mutex
	last   int64
	boards map[string][]api.Task // by name, in the order they were added
}

func newBoards() *boards { return &boards{boards: map[string][]api.Task{}} }

var (
	errNoTask = edge.Refuse(404, "not_found", "there is no such task on this board")
	errTaken  = edge.Refuse(409, "title_taken", "another task of this board has this title")
)

// ListTasks implements listTasks.
func (b *boards) ListTasks(_ context.Context, r api.ListTasksRequestObject) (api.ListTasksResponseObject, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	listed := api.ListTasks200JSONResponse{} // an empty array, not null
	for _, t := range b.boards[r.BoardID] {
		if r.Params.State == nil || slices.Contains(*r.Params.State, t.State) {
			listed = append(listed, t)
		}
	}
	return listed, nil
}

// AddTask implements addTask.
func (b *boards) AddTask(_ context.Context, r api.AddTaskRequestObject) (api.AddTaskResponseObject, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isTaken(r.BoardID, r.Body.Title, 0) {
		return nil, errTaken
	}
	b.last++
	t := api.Task{ID: b.last, Title: r.Body.Title, State: api.StateOpen, Due: r.Body.Due, Assignee: r.Body.Assignee}
	b.boards[r.BoardID] = append(b.boards[r.BoardID], t)
	return api.AddTask201JSONResponse(t), nil
}

// GetTask implements getTask.
func (b *boards) GetTask(_ context.Context, r api.GetTaskRequestObject) (api.GetTaskResponseObject, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := b.find(r.BoardID, r.TaskID)
	if err != nil {
		return nil, err
	}
	return api.GetTask200JSONResponse(b.boards[r.BoardID][i]), nil
}

// ChangeTask implements changeTask.
func (b *boards) ChangeTask(_ context.Context, r api.ChangeTaskRequestObject) (api.ChangeTaskResponseObject, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := b.find(r.BoardID, r.TaskID)
	if err != nil {
		return nil, err
	}
	t := b.boards[r.BoardID][i]
	if r.Body.Title != nil {
		if b.isTaken(r.BoardID, *r.Body.Title, t.ID) {
			return nil, errTaken
		}
		t.Title = *r.Body.Title
	}
	if r.Body.State != nil {
		t.State = *r.Body.State
	}
	if r.Body.Due.IsSpecified() { // a time, or null
		t.Due = r.Body.Due
	}
	b.boards[r.BoardID][i] = t
	return api.ChangeTask200JSONResponse(t), nil
}

// RemoveTask implements removeTask.
func (b *boards) RemoveTask(_ context.Context, r api.RemoveTaskRequestObject) (api.RemoveTaskResponseObject, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, err := b.find(r.BoardID, r.TaskID)
	if err != nil {
		return nil, err
	}
	b.boards[r.BoardID] = slices.Delete(b.boards[r.BoardID], i, i+1)
	return api.RemoveTask204Response{}, nil
}

// CountTasks implements countTasks.
func (b *boards) CountTasks(context.Context, api.CountTasksRequestObject) (api.CountTasksResponseObject, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var n int
	for _, tasks := range b.boards {
		n += len(tasks)
	}
	return api.CountTasks200JSONResponse{Tasks: n}, nil
}

// find returns the place of a task on its board.
func (b *boards) find(board string, id int64) (int, error) {
	i := slices.IndexFunc(b.boards[board], func(t api.Task) bool { return t.ID == id })
	if i < 0 {
		return 0, errNoTask
	}
	return i, nil
}

// isTaken reports whether a task of the board, other than id, has the title.
func (b *boards) isTaken(board, title string, id int64) bool {
	return slices.ContainsFunc(b.boards[board], func(t api.Task) bool { return t.Title == title && t.ID != id })
}
